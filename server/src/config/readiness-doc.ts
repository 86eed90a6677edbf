import type { CheckName } from '../health/readiness.ts'

type Check = { roles: string; problem: string }

const checks: Record<CheckName, Check> = {
  database: { roles: 'any role', problem: 'a new connection cannot be opened and used' },
  worker: {
    roles: '`worker`',
    problem:
      'the active worker has not observed its containers for 30 seconds; on a standby: the active worker is frozen',
  },
  gateway: { roles: '`gateway`', problem: 'the routes could not be read for two minutes' },
  squids: {
    roles: '`worker`, `gateway`',
    problem:
      'on Kubernetes: the API server has not responded since the process started, so the ports of squids are unknown. The check is missing while there is no problem',
  },
  disk: { roles: 'any role', problem: "the data directory's disk does not respond, or less than 1 % of it is free" },
  server: { roles: 'any role', problem: 'the server is stopping. The check is missing while there is no problem' },
}

/** The checks of `/readyz`, as a table. */
export const readinessTable = [
  '| check | in processes with | is not `ok` when |',
  '|---|---|---|',
  ...Object.entries(checks).map(([name, { roles, problem }]) => `| \`${name}\` | ${roles} | ${problem} |`),
].join('\n')
