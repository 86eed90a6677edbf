import type { ContainerSpec } from '@shoal/runtime'

/** The ports on which an api and Hasura respond, and on which a processor serves its metrics. */
export const apiPort = 4350
export const hasuraPort = 8080
export const metricsPort = 3000

/** Returns the names of the containers that run permanently: all but `init`. */
export const containerNames = ({ apiReplicas, hasuraReplicas, processors }: ContainerCounts): string[] => [
  ...Array.from({ length: apiReplicas }, (_, index) => apiName(index)),
  ...Array.from({ length: hasuraReplicas }, (_, index) => hasuraName(index)),
  ...processors,
]

/** The columns of a version that determine its containers. */
type ContainerCounts = { apiReplicas: number; hasuraReplicas: number; processors: string[] }

/** The name of an api: `api` for the index 0, `api-2` for 1. */
export const apiName = (index: number): string => (index === 0 ? 'api' : `api-${index + 1}`)
/** Whether the container is a replica of the api. */
export const isApi = (container: Pick<ContainerSpec, 'name'>): boolean => /^api(-\d+)?$/.test(container.name)
export const isInit = (container: Pick<ContainerSpec, 'name'>): boolean => container.name === 'init'
/** Whether the container serves requests through the gateway: an api, or Hasura. */
export const isServer = (container: Pick<ContainerSpec, 'name'>): boolean => isApi(container) || isHasura(container)
/** Whether the container is a processor: each container that is not `init`, an api or Hasura. */
export const isProcessor = (container: Pick<ContainerSpec, 'name'>): boolean =>
  !isServer(container) && !isInit(container)

/** The grace period of a container in milliseconds; longer for an api and Hasura, so that their streams can finish. */
export const stopGraceMsOf = (container: Pick<ContainerSpec, 'name'>): number => (isServer(container) ? 30_000 : 5000)

/** The name of a replica of Hasura: `hasura` for the index 0, `hasura-2` for 1. */
export const hasuraName = (index: number): string => (index === 0 ? 'hasura' : `hasura-${index + 1}`)
export const isHasura = (container: Pick<ContainerSpec, 'name'>): boolean => /^hasura(-\d+)?$/.test(container.name)
