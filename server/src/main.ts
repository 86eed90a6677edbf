import { PostgresGaveUp } from '@shoal/runtime'
import type { App, WorkerApp } from './app.ts'
import { loadConfig, type Config } from './config/config.ts'
import { safeStack, safeText } from './db/safe-error.ts'
import { isUnavailable } from './db/unavailable.ts'
import { createGateway } from './gateway/gateway.ts'
import { handleHealthRequest, listenForHealth } from './health/health.ts'
import { createHttpApp } from './http/app.ts'
import { claimHost, HostClaimed, watchClaim } from './installation/host-claim.ts'
import { lockInstallation, InstallationInUse, needsExclusive } from './installation/installation-lock.ts'
import { runActiveOrStandby } from './installation/active-worker.ts'
import { listen, type Listener } from './listener.ts'
import { openApp } from './startup/open-app.ts'
import { MissingKeys } from './sealing/require-keys.ts'
import { startupText } from './startup/startup-text.ts'
import { startWorker } from './startup/worker.ts'
import { InvalidSettingError } from './config/invalid-setting.ts'
import { MigrationError } from './db/migrate.ts'

/** Starts the roles this process was given, says where to find them, and ends in order on SIGINT and SIGTERM. */
async function main(): Promise<void> {
  const startedMs = performance.now()
  const told = untilStopRequested()
  const failure = Promise.withResolvers<never>()
  // It may fail while it still starts.
  failure.promise.catch(() => undefined)
  const config = loadConfig()
  // Told while it starts, it still ends what it has started.
  await using stack = new AsyncDisposableStack()
  const { healthUrl, drain } = await start(config, stack, failure.reject)
  process.stdout.write(startupText(config, performance.now() - startedMs, healthUrl))
  await Promise.race([told, failure.promise]).catch(endByForce)
  process.stdout.write(`\nStopping${config.SHOAL_ON_EXIT === 'stop' ? ' the squids and' : ''} the server …\n`)
  await drain()
}

/** How long a server that has failed may take to end what still works. */
const maxEndMs = 15_000

/** Without what has failed, the rest may be unable to end in order. */
function endByForce(error: unknown): never {
  process.stderr.write(`${explain(error)}\n`)
  setTimeout(() => process.exit(1), maxEndMs).unref()
  throw new AlreadyExplained()
}

class AlreadyExplained extends Error {}

type Started = {
  /** Of the port for health and metrics alone; null when this process has none. */
  healthUrl: string | null
  /** Answers the requests that are under way, and takes no more. */
  drain: () => Promise<void>
}

/**
 * First of all it proves that this process may use the data directory and has its ports; before that nothing is touched.
 * What is put on the stack is ended in reverse, also when a later part does not start.
 */
async function start(config: Config, stack: AsyncDisposableStack, failed: (error: unknown) => void): Promise<Started> {
  const has = (role: (typeof config.SHOAL_ROLES)[number]) => config.SHOAL_ROLES.includes(role)
  const installation = await lockInstallation(config, { exclusive: needsExclusive(config), roles: config.SHOAL_ROLES })
  stack.defer(installation.release)
  const opened = (listener: Listener) => {
    stack.defer(listener.close)
    return listener
  }
  const apiPort = has('api') ? opened(await listen(config.SHOAL_PORT, config.SHOAL_HOST)) : null
  const gatewayPort = has('gateway') ? opened(await listen(config.SHOAL_GATEWAY_PORT, config.SHOAL_HOST)) : null
  const health = await listenForHealth(config)
  if (health) opened(health)

  const ending = new AbortController()
  const { app, openWorker, close } = await openApp(config, { installation, onFailure: failed, draining: ending.signal })
  stack.defer(() => close(config.SHOAL_ON_EXIT))
  health?.setHandlers({ request: (req, res) => void handleHealthRequest(app, req, res) })
  if (has('worker')) stack.defer(await takeTurn(app, openWorker, failed))
  if (gatewayPort) {
    const { close: closeGateway, ...answering } = await createGateway(app)
    stack.defer(closeGateway)
    gatewayPort.setHandlers(answering)
  }
  if (apiPort) {
    const http = await createHttpApp(app)
    stack.defer(() => http.close())
    await http.ready()
    apiPort.setHandlers({ request: (req, res) => http.routing(req, res) })
  }
  const ports = [apiPort, gatewayPort].filter((port) => port !== null)
  return {
    healthUrl: health && `http://127.0.0.1:${health.port}`,
    drain: async () => {
      ending.abort()
      await Promise.all(ports.map((port) => port.drain(config.SHOAL_DRAIN_SECONDS * 1000)))
    },
  }
}

/** Works or stands by; answers how to end that. */
async function takeTurn(
  app: App,
  openWorker: () => Promise<WorkerApp>,
  failed: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const { config, log } = app
  let lastObservationMs: () => number | null = () => null
  const work = async () => {
    const workerApp = await openWorker()
    await claimHost(workerApp)
    for (const sentence of await workerApp.runtime.start()) log.warn(sentence)
    const worker = await startWorker(workerApp)
    lastObservationMs = worker.lastObservationMs
    let squids = config.SHOAL_ON_EXIT
    const stopWatching = watchClaim(workerApp, (error) => {
      // They run elsewhere from now on.
      squids = 'stop'
      failed(error)
    })
    return async () => {
      stopWatching()
      await worker.close()
      await workerApp.runtime.close(squids)
    }
  }
  const turn = await runActiveOrStandby({ config, log, startWork: work, onFailure: failed })
  if (app.vitals) app.vitals.worker = () => ({ state: turn.state(), lastObservationMs: lastObservationMs() })
  return turn.close
}

/** npm passes on the Ctrl-C that the terminal has sent already; only a later signal is a second one, and ends the process at once. */
const duplicateSignalMs = 1_500

const untilStopRequested = () =>
  new Promise<void>((done) => {
    let toldMs: number | null = null
    const told = () => {
      if (toldMs !== null && performance.now() - toldMs > duplicateSignalMs) process.exit(130)
      toldMs ??= performance.now()
      done()
    }
    process.on('SIGINT', told)
    process.on('SIGTERM', told)
  })

/** The address to listen on does not exist, or may not be used. */
const isOfAddress = (error: unknown): error is Error =>
  error instanceof Error &&
  'syscall' in error &&
  'code' in error &&
  ((error.syscall === 'listen' && (error.code === 'EADDRNOTAVAIL' || error.code === 'EACCES')) ||
    error.syscall === 'getaddrinfo')

const forOperator = [InvalidSettingError, MigrationError, MissingKeys, InstallationInUse, HostClaimed, PostgresGaveUp]

/** What went wrong in words of the operator; a stack only when it is our own fault. */
function explain(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}\nIs Shoal running already? Otherwise set SHOAL_PORT and SHOAL_GATEWAY_PORT to free ports.`
  if (isOfAddress(error))
    return `${error.message}\nIs SHOAL_HOST an address of this machine, and may this user listen on its ports?`
  if (error instanceof Error && forOperator.some((kind) => error instanceof kind)) return error.message
  if (isUnavailable(error)) return `${safeText(error)}\nIs Postgres up, and is DATABASE_URL its address?`
  return safeStack(error)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  if (!(error instanceof AlreadyExplained)) process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
}
