import { contract, endpointsOf } from '@shoal/contract'

/** Endpoints for the public client, collectors, scripts and links in emails. The console does not call them. */
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

const notCalledNames = new Set<string>(notCalled)

/** The paths of endpoints, by area and verb. */
export type EndpointPaths = Record<string, Record<string, string>>

/**
 * Returns the path and method of each included endpoint that the console calls, without `/v1/`, and without the method if it is GET. A
 * path begins with `!` if the endpoint needs no session; `~` stands for `orgs/{code}`. The format is short, since every page loads it.
 */
export function pathsOf(isIncluded: (name: string) => boolean): EndpointPaths {
  const paths: EndpointPaths = {}
  for (const [name, { method, path, access }] of endpointsOf(contract)) {
    const [area = '', verb = ''] = name.split('.')
    const shortened = path.replace(/^\/v1\//, '').replace('orgs/{code}', '~')
    if (!notCalledNames.has(name) && isIncluded(name))
      (paths[area] ??= {})[verb] =
        `${access === 'public' ? '!' : ''}${shortened}${method === 'GET' ? '' : ` ${method}`}`
  }
  return paths
}
