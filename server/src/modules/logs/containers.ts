import { gapContainer } from '@shoal/contract'

/** The name under which a container's lines are displayed: replicas share one (`api-2` is `api`). */
export const displayedContainer = (container: string): string => /^(api|hasura)-\d+$/.exec(container)?.[1] ?? container

/** Containers that are not processors; containers with any other name are. */
export const nonProcessors = ['init', 'api', 'hasura', 'db', gapContainer]

/** Legacy names that the public client still requests. */
const legacyNames = new Map([
  ['query-node', 'api'],
  ['db-migrate', 'init'],
])

/** The containers that a query selects: those in `names` and, with `allProcessors`, every processor. */
export type ContainerFilter = { names: string[]; allProcessors: boolean }

/**
 * Parses the container names of a query. Always includes lines about dropped lines, since they explain gaps of any container.
 * `processor` selects all processors, because the public client cannot name one.
 */
export function parseContainers(containers: string[]): ContainerFilter {
  return {
    names: [
      gapContainer,
      ...containers.filter((name) => name !== 'processor').map((name) => legacyNames.get(name) ?? name),
    ],
    allProcessors: containers.includes('processor'),
  }
}

/** Whether the filter selects a container. */
export const isSelected = ({ names, allProcessors }: ContainerFilter, container: string): boolean =>
  names.includes(container) || (allProcessors && !nonProcessors.includes(container))
