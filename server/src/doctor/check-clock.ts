import { get as getHttp } from 'node:http'
import { get as getHttps } from 'node:https'
import { chainsOf, isPublicNode } from '../modules/chains/index.ts'
import { failed, ok, skipped, warning, type Check, type Examined } from './check.ts'

/** The clock of a server minus the clock of this host. HTTP dates are rounded down to a second. */
type Offset = { source: string; ms: number }

const maxSources = 3
const timeoutMs = 5_000

/** Compares the clock of this host with those of external Postgres servers and of web servers that Shoal uses. */
export const clockCheck: Check = {
  name: 'clock',
  run: async (examined) => {
    const nowMs = () => examined.clock.now().getTime()
    const webOffsets = Promise.all(webServers(examined).map((origin) => httpOffset(origin, nowMs)))
    const external = (await examined.readClusters()).filter(({ isEmbedded }) => !isEmbedded)
    const offsets = [
      ...external.map(({ name, state }): Offset | null => state && { source: name, ms: state.offsetMs }),
      ...(await webOffsets),
    ]
    const known = offsets.filter((offset) => offset !== null).toSorted((a, b) => a.ms - b.ms)
    // The median is right even if the clock of one server is wrong.
    const median = known[Math.floor((known.length - 1) / 2)]
    if (!median) return [skipped('clock', 'no server responded with a time to compare with')]
    const seconds = Math.round(Math.abs(median.ms) / 1000)
    const finding = `${seconds} s ${median.ms > 0 ? 'behind' : 'ahead of'} ${median.source} (compared with ${known.length})`
    const remedy =
      'Synchronize the clock: apt-get install systemd-timesyncd, then timedatectl set-ntp true. Sign-in tokens, certificates and bills depend on it.'
    if (seconds > 60) return [failed('clock', finding, remedy)]
    return [seconds > 5 ? warning('clock', finding, remedy) : ok('clock', finding)]
  },
}

/** Returns the origins of the first nodes of RPC chains. */
function webServers({ config }: Examined): string[] {
  const upstreams = chainsOf({ config })
    .all()
    .flatMap(({ upstreams: nodes }) => nodes)
  const operatorNodes = upstreams.filter((node) => !isPublicNode(node))
  const origins = (operatorNodes.length > 0 ? operatorNodes : upstreams).map(({ url }) => new URL(url).origin)
  return [...new Set(origins)].slice(0, maxSources)
}

function httpOffset(origin: string, nowMs: () => number): Promise<Offset | null> {
  const get = origin.startsWith('https:') ? getHttps : getHttp
  return new Promise((done) => {
    const request = get(origin, { timeout: timeoutMs, agent: false }, (response) => {
      const atMs = Date.parse(response.headers.date ?? '')
      response.destroy()
      // The date is rounded down to a second.
      done(Number.isNaN(atMs) ? null : { source: new URL(origin).host, ms: atMs + 500 - nowMs() })
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => done(null))
  })
}
