import { contract, endpointsOf } from '@shoal/contract'

/** Endpoints for the public client, collectors, links in mails and scripts. The console does not call them. */
const notCalled = [
  'auth.openConfirmation',
  'deployments.createUpload',
  'deployments.upload',
  'monitoring.scrape',
  'orgs.openVerification',
  'squids.deploy',
  'squids.listMine',
] as const
export type NotCalled = (typeof notCalled)[number]

const names = new Set<string>(notCalled)

/**
 * Path and method of each endpoint that the console calls, by area and verb: without `/v1/`, and without the method if it is GET. A path begins
 * with `!` if the endpoint needs no session, and `~` is `orgs/{code}`. The build runs this file and ships only its result
 * (build/lean-contract.ts), so that calling an endpoint loads no schema. The format is terse, since every page loads it.
 */
export const endpoints: Record<string, Record<string, string>> = {}
for (const [name, { method, path, access }] of endpointsOf(contract)) {
  const [area = '', verb = ''] = name.split('.')
  const shortened = path.replace(/^\/v1\//, '').replace('orgs/{code}', '~')
  if (!names.has(name))
    (endpoints[area] ??= {})[verb] =
      `${access === 'public' ? '!' : ''}${shortened}${method === 'GET' ? '' : ` ${method}`}`
}
