import { createServer } from 'node:net'
import { gatewayUrlOf } from '../config/config.ts'
import { describeHolder } from '../installation/holders.ts'
import { localUrl } from '../ports/listener.ts'
import { listensOn, systemdListensOn } from '../ports/open-sockets.ts'
import { shoalVersion } from '../installation/version.ts'
import { failed, ok, warning, type Check, type CheckResult, type Examined } from './check.ts'
import { getLocal, parseJson, type LocalPage } from './local-http.ts'

type HealthPage = { status?: string; version?: string }
/** `host`: undefined for all addresses. */
type Port = { port: number; host: string | undefined; setting: string; hostSetting: string }
type OwnPort = Port & { host: string }

/** Returns the ports with health pages that a process with these settings opens. */
function portsOf({ config }: Examined): OwnPort[] {
  const address = { host: config.SHOAL_HOST, hostSetting: 'SHOAL_HOST' }
  const healthAddress = { host: config.SHOAL_HEALTH_HOST, hostSetting: 'SHOAL_HEALTH_HOST' }
  return [
    ...(config.SHOAL_ROLES.includes('api') ? [{ port: config.SHOAL_PORT, ...address, setting: 'SHOAL_PORT' }] : []),
    ...(config.SHOAL_ROLES.includes('gateway')
      ? [{ port: config.SHOAL_GATEWAY_PORT, ...address, setting: 'SHOAL_GATEWAY_PORT' }]
      : []),
    ...(config.SHOAL_HEALTH_PORT === undefined
      ? []
      : [{ port: config.SHOAL_HEALTH_PORT, ...healthAddress, setting: 'SHOAL_HEALTH_PORT' }]),
  ]
}

/** Returns the ports of SHOAL_TLS, each with a function that checks whether Shoal serves it. */
function tlsPortsOf({ config }: Examined): { port: Port; isShoal: () => Promise<boolean> }[] {
  const { tls } = config
  if (!tls || !config.SHOAL_ROLES.some((role) => role !== 'worker')) return []
  const address = { host: config.SHOAL_TLS_HOST, hostSetting: 'SHOAL_TLS_HOST' }
  const name = config.SHOAL_ROLES.includes('api') ? tls.consoleName : new URL(gatewayUrlOf(config, 'doctor')).hostname
  const origin = (scheme: 'https' | 'http', port: number) =>
    localUrl(address.host ?? '0.0.0.0', port).replace('http:', `${scheme}:`)
  const https = { port: config.SHOAL_TLS_PORT, ...address, setting: 'SHOAL_TLS_PORT' }
  const http = { port: config.SHOAL_TLS_REDIRECT_PORT, ...address, setting: 'SHOAL_TLS_REDIRECT_PORT' }
  return [
    {
      port: https,
      isShoal: async () => isHealthy(await getLocal(`${origin('https', https.port)}/healthz`, name)),
    },
    {
      port: http,
      isShoal: async () => {
        const page = await getLocal(`${origin('http', http.port)}/healthz`, name)
        return page?.status === 308 && page.location?.startsWith(`https://${name}`) === true
      },
    },
  ]
}

const isHealthy = (page: LocalPage | null): boolean =>
  (page && (parseJson(page.body) as HealthPage | null))?.status === 'ok'

/** Checks that each port is served by Shoal, or free while no server runs. */
export const portsCheck: Check = {
  name: 'ports',
  run: (examined) =>
    Promise.all([
      ...portsOf(examined).map((port) =>
        checkPort(examined, port, async () => isHealthy(await getLocal(`${localUrl(port.host, port.port)}/healthz`))),
      ),
      ...tlsPortsOf(examined).map(({ port, isShoal }) => checkPort(examined, port, isShoal)),
    ]),
}

async function checkPort(
  { servers }: Examined,
  { port, host, setting, hostSetting }: Port,
  isShoal: () => Promise<boolean>,
): Promise<CheckResult> {
  const code = await tryListen(port, host)
  if (code === null)
    return servers.length === 0
      ? ok('ports', `${port} (${setting}) is free`)
      : warning(
          'ports',
          `${port} (${setting}) is not served although ${servers.map(describeHolder).join(', ')} runs`,
          'Run this command with the settings of that server, or read its log.',
        )
  if (code !== 'EADDRINUSE')
    return failed(
      'ports',
      `${port} (${setting}) cannot be opened: ${code}`,
      `Choose a port above 1023 for ${setting}, or start the server as root; and an address of this machine for ${hostSetting}.`,
    )
  const isOfShoal = await isShoal()
  if (isOfShoal && servers.length > 0) return ok('ports', `${port} (${setting}) is served by Shoal`)
  const silent = isOfShoal ? undefined : servers.find(({ pid }) => listensOn(pid, port) === true)
  if (silent)
    return failed(
      'ports',
      `${port} (${setting}) is open, but ${describeHolder(silent)} does not respond there`,
      'Read the log of the server, and restart it.',
    )
  if (servers.length === 0 && systemdListensOn(port))
    return failed(
      'ports',
      `${port} (${setting}) is open in systemd (shoal.socket), but no server runs`,
      'Read the log of the service: journalctl -u shoal',
    )
  return failed(
    'ports',
    `${port} (${setting}) is used by another ${isOfShoal ? 'installation' : 'program'}`,
    `Stop that program (ss -ltnp 'sport = :${port}' names it), or set ${setting} to a free port.`,
  )
}

/** Returns null if the port can be opened, otherwise the error's code. */
const tryListen = (port: number, host: string | undefined) =>
  new Promise<string | null>((done) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => done(null)))
  })

type ReadyPage = { status: string; checks: Record<string, string>; facts: Record<string, string | number | null> }

/** Checks that a server runs, has the version of this command, and is ready. */
export const serverCheck: Check = {
  name: 'server',
  run: async (examined) => {
    const { servers } = examined
    if (servers.length === 0)
      return [
        warning(
          'server',
          'no server runs',
          'Start it: systemctl start shoal, npm start or npm run serve. If it ends again, read its log: journalctl -u shoal',
        ),
      ]
    const results = await Promise.all(portsOf(examined).map(checkReady))
    const names = servers.map(describeHolder).join(', ')
    return results.some((result) => result !== null)
      ? results.filter((result) => result !== null)
      : [failed('server', `${names} does not respond`, 'Read its log, and restart it.')]
  },
}

async function checkReady({ port, host, setting }: OwnPort): Promise<CheckResult | null> {
  const url = localUrl(host, port)
  const [ready, health] = await Promise.all([getLocal(`${url}/readyz`), getLocal(`${url}/healthz`)])
  const page = ready && (parseJson(ready.body) as ReadyPage | null)
  if (!page?.checks) return null
  const problems = Object.entries(page.checks).filter(([, state]) => state !== 'ok')
  if (problems.length > 0)
    return failed(
      'server',
      `port ${port} (${setting}) is not ready: ${problems.map(([name, state]) => `${name} ${state}`).join('; ')}`,
      'Fix the named problems, or read the log of the server.',
    )
  const version = (parseJson(health?.body ?? '') as HealthPage | null)?.version ?? 'unknown'
  if (version !== shoalVersion())
    return warning(
      'server',
      `port ${port} (${setting}) runs version ${version}; this command is version ${shoalVersion()}`,
      'Restart the server, or use the command of its version.',
    )
  return ok('server', `port ${port} (${setting}) is ready, version ${version}`)
}
