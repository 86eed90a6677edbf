import type { Client, Contract } from '@shoal/contract'
import { printFaults, reportFault } from './fault-report.ts'
import { addOrg } from './org.ts'
import { deploySimulated } from './simulated-squid.ts'
import type { Shoal } from './shoal.ts'
import { startTimeline, type Timeline } from './timeline.ts'

const columns = ['console API', 'slowest API response', '`/readyz`', "the neighbour's api", 'reported']

/** Formats a duration, such as `1.5 s`. */
export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/** Prints the table of faults. Call it after all tests of a file. */
export const printHostFaults = () => printFaults(...columns)

export type WatchedOrg = { shoal: Shoal; token: string; org: string }

/**
 * Starts probing the API, `/readyz` and a squid's endpoint. The squid is the neighbour: it runs on the host that has the fault, but did
 * not cause it.
 */
export const watchHost = ({ shoal, token, org }: WatchedOrg, squidUrl: string): Timeline =>
  startTimeline({
    api: async (signal) => {
      const headers = { authorization: `token ${token}` }
      return String((await fetch(`${shoal.url}/api/v1/orgs/${org}/squids`, { headers, signal })).status)
    },
    readyz: async (signal) => String((await fetch(`${shoal.url}/readyz`, { signal })).status),
    neighbour: async (signal) => {
      const body = JSON.stringify({ query: '{ __typename }' })
      const headers = { 'content-type': 'application/json' }
      return String((await fetch(squidUrl, { method: 'POST', headers, body, signal })).status)
    },
  })

/** Adds a row to the table of faults. @param message what Shoal reported about the fault */
export const reportHostFault = (fault: string, timeline: Timeline, message: string) =>
  reportFault(
    fault,
    timeline.history('api'),
    seconds(timeline.slowestMs('api')),
    timeline.history('readyz'),
    timeline.history('neighbour'),
    message,
  )

/** Returns whether the newest response to each probe has the status 200. */
export const hasRecovered = (timeline: Timeline) =>
  ['api', 'readyz', 'neighbour'].every((probe) => timeline.latest(probe) === '200')

/** Creates an organization with a deployed squid on a Shoal with the sim runtime. */
export async function deploySimulatedTo(
  shoal: Shoal,
): Promise<WatchedOrg & { endpoint: string; api: Client<Contract> }> {
  const org = 'acme-labs'
  const { token, api } = await addOrg(shoal, org)
  const deployer = { shoal, org, token, api }
  const { status } = await deploySimulated(deployer, { name: 'simulated', slot: 'v1' })
  if (status !== 'OK') throw new Error(`The deployment ended with ${status}`)
  return { ...deployer, endpoint: `${shoal.gatewayUrl}/${org}/simulated@v1/api/graphql` }
}
