import { levelsQueried } from './levels.ts'
import { parseContainers, isSelected, type ContainerFilter } from './containers.ts'
import { caseFolded } from './bloom.ts'

/** The filter of a caller; null: everything. */
export type LogFilter = {
  /** Numbers of levels. */
  levels: number[] | null
  containers: ContainerFilter | null
  /** Occurs in the displayed text of a line, case-insensitively. */
  search: string | null
}

type FilterQuery = { level?: string[] | undefined; container?: string[] | undefined; search?: string | undefined }

export const filterOf = ({ level = [], container = [], search = '' }: FilterQuery): LogFilter => ({
  levels: level.length > 0 ? levelsQueried(level) : null,
  containers: container.length > 0 ? parseContainers(container) : null,
  search: search === '' ? null : search,
})

export const isEverything = ({ levels, containers, search }: LogFilter): boolean => !levels && !containers && !search

type Line = { level: number; container: string; ns: string | null; message: string; fields: string | null }

/** The same filter as `conditionsOf` of `lines-store.ts` in SQL. */
export function matches(filter: LogFilter, line: Line): boolean {
  if (filter.levels && !filter.levels.includes(line.level)) return false
  if (filter.containers && !isSelected(filter.containers, line.container)) return false
  return filter.search === null || caseFolded(textOf(line)).includes(caseFolded(filter.search))
}

const textOf = ({ ns, message, fields }: Line) => [ns, message, fields].filter((part) => part !== null).join(' ')
