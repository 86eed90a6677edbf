type ContainerName = { squidId: number; generation: number; container: string }

/** The key of a container in maps: `<version>.<generation>/<container>`. */
export const containerKey = ({ squidId, generation, container }: ContainerName): string =>
  `${squidId}.${generation}/${container}`
