/** One program of one version, as addressed by a URL. */
export type Target = {
  org: string
  /** `name@slot` or `name:tag`. */
  reference: string
  program: { kind: 'api' | 'hasura' } | { kind: 'processor'; name: string }
  /** Path and query string to request from the program. */
  path: string
}

/** Returns what a Host header and a URL address; null for URLs that do not address a version. */
export type AddressParser = (host: string | undefined, url: string) => Target | null

/** The slots that legacy URLs can address. */
const legacySlot = /^v\d+$/

/** Returns a parser for URLs of the form of `gatewayUrl`, which contains `{org}` in its host or path. */
export function addressParser(gatewayUrl: string): AddressParser {
  const [, host = '', prefix = ''] = /^https?:\/\/([^/]*)(.*)$/.exec(gatewayUrl) ?? []
  const hostPattern = host.includes('{org}') ? patternOf(host.replace(/:\d+$/, ''), '(?::\\d+)?$') : null
  const pathPattern = patternOf(prefix, '(?=/)')
  return (hostHeader, url) => {
    const pathMatch = pathPattern.exec(url)
    if (!pathMatch) return null
    const org = hostPattern ? hostPattern.exec(hostHeader ?? '')?.[1] : pathMatch[1]
    return org ? targetOf(org.toLowerCase(), url.slice(pathMatch[0].length)) : null
  }
}

const patternOf = (template: string, end: string): RegExp =>
  new RegExp(
    `^${template
      .split('{org}')
      .map((part) => RegExp.escape(part))
      .join('([a-z0-9-]{1,64})')}${end}`,
    'i',
  )

function targetOf(org: string, orgPath: string): Target | null {
  const [, segment = '', path = ''] = /^\/([^/?]*)(.*)$/s.exec(orgPath) ?? []
  const name = decode(segment)
  if (name.includes('@') || name.includes(':')) return versionTarget(org, name, path)
  return legacyTarget(org, name, path)
}

function versionTarget(org: string, reference: string, path: string): Target | null {
  const [, kind, subpath = ''] = /^\/(api|hasura)((?:[/?].*)?)$/s.exec(path) ?? []
  if (kind === 'api' || kind === 'hasura')
    return { org, reference, program: { kind }, path: subpath.startsWith('/') ? subpath : `/${subpath}` }
  const [, processor, query = ''] = /^\/processors\/([a-z0-9-]{1,63})\/metrics(\?.*)?$/.exec(path) ?? []
  return processor
    ? { org, reference, program: { kind: 'processor', name: processor }, path: `/metrics${query}` }
    : null
}

/** Parses legacy URLs: `/<name>/graphql` addresses the tag `prod` of a squid, `/<name>/v/v1/graphql` its slot `v1`. */
function legacyTarget(org: string, name: string, path: string): Target | null {
  const [, slot, query] = /^(?:\/v\/([^/]+))?\/graphql(\?.*)?$/.exec(path) ?? [undefined, undefined, null]
  if (query === null || (slot !== undefined && !legacySlot.test(slot))) return null
  return {
    org,
    reference: slot ? `${name}@${slot}` : `${name}:prod`,
    program: { kind: 'api' },
    path: `/graphql${query ?? ''}`,
  }
}

function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
