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

/** Starts the roles of this process, prints their addresses, and shuts down gracefully on SIGINT and SIGTERM. */
async function main(): Promise<void> {
  const startedMs = performance.now()
  const stopRequested = waitForStopSignal()
  const failure = Promise.withResolvers<never>()
  // A failure during startup must not be an unhandled rejection.
  failure.promise.catch(() => undefined)
  const config = loadConfig()
  // Closed also if startup fails halfway.
  await using stack = new AsyncDisposableStack()
  const { healthUrl, drain } = await start(config, stack, failure.reject)
  process.stdout.write(startupText(config, performance.now() - startedMs, healthUrl))
  await Promise.race([stopRequested, failure.promise]).catch(shutDownAfterFailure)
  process.stdout.write(`\nStopping${config.SHOAL_ON_EXIT === 'stop' ? ' the squids and' : ''} the server …\n`)
  await drain()
}

/** How long the shutdown may take after a failure. */
const maxShutdownMs = 15_000

/** Reports the failure and limits the time of the shutdown, which may hang without the part that failed. */
function shutDownAfterFailure(error: unknown): never {
  process.stderr.write(`${explain(error)}\n`)
  setTimeout(() => process.exit(1), maxShutdownMs).unref()
  throw new ReportedError()
}

class ReportedError extends Error {}

type Started = {
  /** The address of the port for health and metrics only; null if this process has none. */
  healthUrl: string | null
  /** Completes the requests in progress and takes no new ones. */
  drain: () => Promise<void>
}

/**
 * Starts all parts and puts them on the stack, which closes them in reverse order, also if a later part fails to start. Takes the
 * lock of the data directory and the ports before it touches anything else.
 */
async function start(config: Config, stack: AsyncDisposableStack, fail: (error: unknown) => void): Promise<Started> {
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

  const draining = new AbortController()
  const { app, openWorker, close } = await openApp(config, { installation, onFailure: fail, draining: draining.signal })
  stack.defer(() => close(config.SHOAL_ON_EXIT))
  health?.setHandlers({ request: (req, res) => void handleHealthRequest(app, req, res) })
  if (has('worker')) stack.defer(await startWorkerOrStandby(app, openWorker, fail))
  if (gatewayPort) {
    const { close: closeGateway, ...handlers } = await createGateway(app)
    stack.defer(closeGateway)
    gatewayPort.setHandlers(handlers)
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
      draining.abort()
      await Promise.all(ports.map((port) => port.drain(config.SHOAL_DRAIN_SECONDS * 1000)))
    },
  }
}

/** Becomes the active worker or a standby. Returns a function that stops it. */
async function startWorkerOrStandby(
  app: App,
  openWorker: () => Promise<WorkerApp>,
  fail: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const { config, log } = app
  let lastObservationMs: () => number | null = () => null
  const startWork = async () => {
    const workerApp = await openWorker()
    await claimHost(workerApp)
    for (const warning of await workerApp.runtime.start()) log.warn(warning)
    const worker = await startWorker(workerApp)
    lastObservationMs = worker.lastObservationMs
    let onExit = config.SHOAL_ON_EXIT
    const stopWatching = watchClaim(workerApp, (error) => {
      // Another host runs the squids from now on.
      onExit = 'stop'
      fail(error)
    })
    return async () => {
      stopWatching()
      await worker.close()
      await workerApp.runtime.close(onExit)
    }
  }
  const handle = await runActiveOrStandby({ config, log, startWork, onFailure: fail })
  if (app.vitals) app.vitals.worker = () => ({ state: handle.state(), lastObservationMs: lastObservationMs() })
  return handle.close
}

/** npm forwards the Ctrl-C of a terminal, so a signal may arrive twice. A later one ends the process immediately. */
const duplicateSignalMs = 1_500

const waitForStopSignal = () =>
  new Promise<void>((done) => {
    let firstMs: number | null = null
    const onSignal = () => {
      if (firstMs !== null && performance.now() - firstMs > duplicateSignalMs) process.exit(130)
      firstMs ??= performance.now()
      done()
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })

/** True if the address to listen on does not exist, or may not be used. */
const isAddressError = (error: unknown): error is Error =>
  error instanceof Error &&
  'syscall' in error &&
  'code' in error &&
  ((error.syscall === 'listen' && (error.code === 'EADDRNOTAVAIL' || error.code === 'EACCES')) ||
    error.syscall === 'getaddrinfo')

const operatorErrors = [
  InvalidSettingError,
  MigrationError,
  MissingKeys,
  InstallationInUse,
  HostClaimed,
  PostgresGaveUp,
]

/** Describes an error to the operator; with a stack trace only if it is a defect of Shoal. */
function explain(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}\nIs Shoal running already? Otherwise set SHOAL_PORT and SHOAL_GATEWAY_PORT to free ports.`
  if (isAddressError(error))
    return `${error.message}\nIs SHOAL_HOST an address of this machine, and may this user listen on its ports?`
  if (error instanceof Error && operatorErrors.some((kind) => error instanceof kind)) return error.message
  if (isUnavailable(error)) return `${safeText(error)}\nIs Postgres up, and is DATABASE_URL its address?`
  return safeStack(error)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  if (!(error instanceof ReportedError)) process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
}
