import type { Workload } from '../../../../runtime/src/driver.ts'

/** Versions of each organization. The first organization has as many as the others, so its list shows the influence of the others. */
export const versionsPerOrg = 10

/** The environment of an ordinary squid. */
export const environment: Record<string, string> = Object.fromEntries(
  Array.from({ length: 20 }, (_, i) => [`VARIABLE_${i}`, `value ${i} of the squid`]),
)

/** Returns the workload of an ordinary squid: an api and a processor. `variables`: additional variables of each. */
export function ordinaryWorkload(
  identity: Pick<Workload, 'id' | 'tenant' | 'version'>,
  variables: { api?: Record<string, string>; processor?: Record<string, string> } = {},
): Workload {
  const container = (name: 'api' | 'processor', port: number) => ({
    name,
    command: ['node'],
    env: { ...environment, ...variables[name] },
    resources: { cpuCores: 0.25, memoryBytes: 2 ** 28 },
    ports: [port],
    stopGraceMs: 5_000,
  })
  return {
    ...identity,
    image: `image-${identity.version}`,
    containers: [
      { ...container('api', 4350), restart: 'always' },
      { ...container('processor', 3000), restart: 'on-failure' },
    ],
  }
}
