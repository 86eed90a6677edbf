/** Display name of a line's container: replicas of the api are merged (`api-2` is `api`). */
export const shownContainer = (container: string): string => (/^api-\d+$/.test(container) ? 'api' : container)

/** All other containers are processors, by their own names. */
export const notProcessors = ['init', 'api', 'db']

/** Legacy names that the public client still requests (contract 2.6). */
const formerNames: Record<string, string> = { 'query-node': 'api', 'db-migrate': 'init' }

export type ContainerFilter = { names: string[]; allProcessors: boolean }

/** `processor` selects all of them: the client cannot name one (contract 2.6). */
export function parseContainers(containers: string[]): ContainerFilter {
  return {
    names: containers.filter((name) => name !== 'processor').map((name) => formerNames[name] ?? name),
    allProcessors: containers.includes('processor'),
  }
}

export const isSelected = ({ names, allProcessors }: ContainerFilter, container: string): boolean =>
  names.includes(container) || (allProcessors && !notProcessors.includes(container))
