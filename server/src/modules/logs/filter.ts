import { parseLevels } from './levels.ts'
import { parseContainers, isSelected, type ContainerFilter } from './containers.ts'
import { foldCase } from './bloom.ts'

/** The filter of a query. A field that is null matches every line. */
export type LogFilter = {
  /** The numbers of the levels, as stored. */
  levels: number[] | null
  containers: ContainerFilter | null
  /** Text that matching lines contain, ignoring case. */
  search: string | null
}

type FilterQuery = { level?: string[] | undefined; container?: string[] | undefined; search?: string | undefined }

/** Returns the filter that the parameters of a query describe. */
export const filterOf = ({ level = [], container = [], search = '' }: FilterQuery): LogFilter => ({
  levels: level.length > 0 ? parseLevels(level) : null,
  containers: container.length > 0 ? parseContainers(container) : null,
  search: search === '' ? null : search,
})

/** Whether the filter restricts nothing, so that lines need not be checked. */
export const matchesEverything = ({ levels, containers, search }: LogFilter): boolean =>
  !levels && !containers && !search

type Line = { level: number; container: string; ns: string | null; message: string; fields: string | null }

/** Returns whether the line matches the filter. The same filter in SQL is `conditionsOf` in `lines-store.ts`. */
export function matches(filter: LogFilter, line: Line): boolean {
  if (filter.levels && !filter.levels.includes(line.level)) return false
  if (filter.containers && !isSelected(filter.containers, line.container)) return false
  return filter.search === null || foldCase(textOf(line)).includes(foldCase(filter.search))
}

/** Returns the text that searches match; the same in SQL is `searchedText`. */
export const textOf = ({ ns, message, fields }: Line) => [ns, message, fields].filter((part) => part !== null).join(' ')
