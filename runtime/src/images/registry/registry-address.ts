import { createHash } from 'node:crypto'

type RegistryOrigin = {
  /** `https://host[:port]`, or `http://` */
  origin: string
  /** As in the names of images: `host[:port]`. */
  host: string
}

/** A registry, and the path below which repositories are created in it. */
export type RegistryAddress = RegistryOrigin & {
  /** Without leading and trailing slashes; empty if repositories are at the top level. */
  path: string
}

/** An image in a registry, by tag or digest. */
export type ImageReference = RegistryOrigin & { repository: string; reference: string }

const SEGMENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/
const HOST = /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:]+\])(?::\d{1,5})?$/i
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/
const DIGEST = /^sha256:[0-9a-f]{64}$/

/**
 * Parses `host[:port][/path]`. Requests use TLS, unless the registry is on loopback or the text starts with `http://`.
 * @throws Error with a sentence for the operator
 */
export function parseRegistry(text: string): RegistryAddress {
  const [, scheme = '', host = '', path = ''] = /^(https?:\/\/)?([^/]*)\/*(.*?)\/*$/.exec(text) ?? []
  if (!HOST.test(host)) throw new Error(`${JSON.stringify(text)} is not the address of a registry (host[:port][/path])`)
  if (path !== '' && !path.split('/').every((segment) => SEGMENT.test(segment)))
    throw new Error(`The path of the registry ${host} must consist of lower-case words, not ${JSON.stringify(path)}`)
  const protocol = scheme === 'http://' || (scheme === '' && isLoopback(host)) ? 'http' : 'https'
  return { origin: `${protocol}://${apiHost(host)}`, host, path }
}

/**
 * Parses the name of an image in any registry, such as `docker.io/library/node:20-slim` or `http://host:5000/base@sha256:…`.
 * @throws Error with a sentence for the operator
 */
export function parseImageReference(text: string): ImageReference {
  const [, name = '', tag, digest] = /^(.*?)(?::([^:/@]+))?(?:@(.+))?$/.exec(text) ?? []
  const reference = digest ?? tag ?? 'latest'
  const { origin, host, path: repository } = parseRegistry(name)
  if (repository === '') throw new Error(`${JSON.stringify(text)} does not name an image (host/repository:tag)`)
  if (!DIGEST.test(reference) && (digest !== undefined || !TAG.test(reference)))
    throw new Error(`${JSON.stringify(text)} has neither a valid tag nor a digest (sha256:…)`)
  return { origin, host, repository, reference }
}

/** Returns a repository below the registry's path. If `name` is not a valid segment of a path, its last segment is `x` followed by `fallback`. */
export function repositoryOf({ path }: RegistryAddress, name: string, fallback: string): string {
  const segment = SEGMENT.test(name) ? name : `x${fallback}`
  return path === '' ? segment : `${path}/${segment}`
}

/** Returns the repository of a tenant's images. */
export const tenantRepository = (address: RegistryAddress, tenant: string): string =>
  repositoryOf(address, `o${tenant}`, createHash('sha256').update(tenant).digest('hex').slice(0, 32))

/** Docker Hub's API has a different host from the one in its image names. */
const apiHost = (host: string): string => (host === 'docker.io' ? 'registry-1.docker.io' : host)

const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host)
