import { levelsQueried } from './levels.ts'
import { parseContainers, isAsked, type ContainerFilter } from './containers.ts'
import { caseFolded } from './bloom.ts'

/** What a caller wants to see; null: all. */
export type LogFilter = {
  /** Numbers of levels. */
  levels: number[] | null
  containers: ContainerFilter | null
  /** Found anywhere in what is shown of a line, whatever the case of its letters. */
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

/** The same question as `conditionsOf` of `lines-store.ts` puts to the database. */
export function matches(filter: LogFilter, line: Line): boolean {
  if (filter.levels && !filter.levels.includes(line.level)) return false
  if (filter.containers && !isAsked(filter.containers, line.container)) return false
  return filter.search === null || caseFolded(textOf(line)).includes(caseFolded(filter.search))
}

const textOf = ({ ns, message, fields }: Line) => [ns, message, fields].filter((part) => part !== null).join(' ')
