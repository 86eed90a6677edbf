import { PostgresCrashLoopError, PostgresStartError } from '@shoal/runtime'
import type { App, WorkerApp } from './app.ts'
import { ArtifactsUnavailable } from './artifacts/artifact-store.ts'
import { trustAuthorities } from './config/ca-file.ts'
import { loadConfig, type Config } from './config/config.ts'
import { safeStack, safeText } from './db/safe-error.ts'
import { isUnavailable } from './db/unavailable.ts'
import { createGateway } from './gateway/gateway.ts'
import { handleHealthRequest, listenForHealth } from './health/health.ts'
import { createHttpApp } from './http/app.ts'
import { claimHost, HostClaimed, watchClaim } from './installation/host-claim.ts'
import { lockInstallation, InstallationInUse, needsExclusive } from './installation/installation-lock.ts'
import { InstallationMoved, watchMoves } from './installation/move-mark.ts'
import { runActiveOrStandby } from './installation/active-worker.ts'
import { startHeartbeat } from './installation/heartbeat.ts'
import { countUnusedSockets } from './ports/listen-addresses.ts'
import { listen, localUrl, type Listener } from './ports/listener.ts'
import { openApp } from './startup/open-app.ts'
import { MissingKeys } from './sealing/require-keys.ts'
import { WrongLogsDatabase } from './modules/logs/index.ts'
import { fenceOtherHosts, limitToOneOrg } from './modules/deployments/index.ts'
import { startupText } from './startup/startup-text.ts'
import { startWorker } from './startup/worker.ts'
import { openTlsPorts, type TlsPorts } from './tls/index.ts'
import { InvalidSettingError } from './config/invalid-setting.ts'
import { MigrationError } from './db/migrate.ts'

/** Starts the roles of this process, prints their addresses, and shuts down gracefully on SIGINT and SIGTERM. */
async function main(): Promise<void> {
  const startedMs = performance.now()
  const stopRequested = waitForStopSignal()
  const failure = Promise.withResolvers<never>()
  // Prevents an unhandled rejection if startup fails.
  failure.promise.catch(() => undefined)
  const config = loadConfig()
  trustAuthorities(config)
  // The stack is also closed if startup fails halfway.
  await using stack = new AsyncDisposableStack()
  const { app, healthUrl, drain } = await start(config, stack, failure.reject)
  process.stdout.write(startupText(app, performance.now() - startedMs, healthUrl))
  await Promise.race([stopRequested, failure.promise]).catch(shutDownAfterFailure)
  process.stdout.write(`\nStopping${config.SHOAL_ON_EXIT === 'stop' ? ' the squids and' : ''} the server …\n`)
  await drain()
}

/** The timeout of the shutdown after a failure. */
const maxShutdownMs = 15_000

/** Reports the failure, and sets a timeout for the shutdown, which may hang because of the failure. */
function shutDownAfterFailure(error: unknown): never {
  process.stderr.write(`${describeError(error)}\n`)
  setTimeout(() => process.exit(1), maxShutdownMs).unref()
  throw new ReportedError()
}

class ReportedError extends Error {}

type StartedServer = {
  app: App
  /** The URL of the port that serves only health and metrics; null if this process has none. */
  healthUrl: string | null
  /** Completes the requests in progress and accepts no new ones. */
  drain: () => Promise<void>
}

/**
 * Starts all components and adds them to the stack, which closes them in reverse order, even if a later one fails to start. Acquires the
 * lock of the data directory and opens the ports first.
 */
async function start(
  config: Config,
  stack: AsyncDisposableStack,
  fail: (error: unknown) => void,
): Promise<StartedServer> {
  const hasRole = (role: (typeof config.SHOAL_ROLES)[number]) => config.SHOAL_ROLES.includes(role)
  const installation = await lockInstallation(config, { exclusive: needsExclusive(config), roles: config.SHOAL_ROLES })
  stack.defer(installation.release)
  const closeLater = (listener: Listener) => {
    stack.defer(listener.close)
    return listener
  }
  const { SHOAL_HOST: host, inheritedFds } = config
  const apiPort = hasRole('api') ? closeLater(await listen(config.SHOAL_PORT, host, { inheritedFds })) : null
  const gatewayPort = hasRole('gateway')
    ? closeLater(await listen(config.SHOAL_GATEWAY_PORT, host, { inheritedFds }))
    : null
  const tlsPorts = await openTlsPorts(config)
  tlsPorts?.listeners.forEach(closeLater)
  const health = await listenForHealth(config)
  if (health) closeLater(health)

  const ports = [apiPort, gatewayPort, ...(tlsPorts?.listeners ?? [])].filter((port) => port !== null)

  const draining = new AbortController()
  const { app, openWorker, close } = await openApp(config, { installation, onFailure: fail, draining: draining.signal })
  stack.defer(() => close(config.SHOAL_ON_EXIT))
  stack.defer(watchMoves(app.db, fail))
  if ([...ports, health].some((port) => port?.lacksLoopback6)) app.log.warn(noLoopback6Text)
  const unusedSockets = countUnusedSockets(config)
  if (unusedSockets > 0) app.log.warn({ unusedSockets }, unusedSocketsText)
  health?.setHandlers({ request: (req, res) => void handleHealthRequest(app, req, res) })
  if (hasRole('worker')) stack.defer(await startWorkerOrStandby(app, openWorker, fail))
  const handlers: Parameters<TlsPorts['start']>[1] = { api: null, gateway: null }
  if (gatewayPort) {
    const { close: closeGateway, ...gateway } = await createGateway(app)
    stack.defer(closeGateway)
    handlers.gateway = gateway
    gatewayPort.setHandlers(gateway)
  }
  if (apiPort) {
    const http = await createHttpApp(app)
    stack.defer(() => http.close())
    await http.ready()
    handlers.api = { request: (req, res) => http.routing(req, res) }
    apiPort.setHandlers(handlers.api)
  }
  if (tlsPorts) stack.defer(await tlsPorts.start(app, handlers))
  stack.defer(startHeartbeat(app).close)
  return {
    app,
    healthUrl: health && localUrl(config.SHOAL_HEALTH_HOST, health.port),
    drain: async () => {
      draining.abort()
      await Promise.all(ports.map((port) => port.drain(config.SHOAL_DRAIN_SECONDS * 1000)))
    },
  }
}

const noLoopback6Text =
  'This machine has no address ::1 (no IPv6), so Shoal listens on 127.0.0.1 only. If IPv6 is enabled later, restart Shoal: until then, another program could receive requests to localhost on ::1.'

const unusedSocketsText =
  'systemd (shoal.socket) listens on addresses that no setting of Shoal names. Requests to these addresses get no response. To update shoal.socket, run: shoal install'

/** Becomes the active worker or a standby. Returns a function that stops it. */
async function startWorkerOrStandby(
  app: App,
  openWorker: () => Promise<WorkerApp>,
  fail: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const { config, log } = app
  let observationAgeMs: () => number | null = () => null
  const startWork = async () => {
    const workerApp = await openWorker()
    await claimHost(workerApp)
    await fenceOtherHosts(workerApp)
    const limitations = await workerApp.runtime.start()
    for (const warning of [...limitations, ...(await limitToOneOrg(workerApp))]) log.warn(warning)
    const worker = await startWorker(workerApp)
    observationAgeMs = worker.observationAgeMs
    let onExit = config.SHOAL_ON_EXIT
    const stopWatching = watchClaim(workerApp, (error) => {
      // From then on, another host runs the squids.
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
  if (app.componentStates)
    app.componentStates.worker = () => ({ state: handle.state(), observationAgeMs: observationAgeMs() })
  return handle.close
}

/** npm forwards the Ctrl-C of a terminal, so a signal may arrive twice within this time. A later signal ends the process immediately. */
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

/** Whether an error means that the address to listen on does not exist, or that this user may not use it. */
const isAddressError = (error: unknown): error is Error =>
  error instanceof Error &&
  'syscall' in error &&
  'code' in error &&
  ((error.syscall === 'listen' && (error.code === 'EADDRNOTAVAIL' || error.code === 'EACCES')) ||
    error.syscall === 'getaddrinfo')

const operatorErrors = [
  InvalidSettingError,
  ArtifactsUnavailable,
  MigrationError,
  MissingKeys,
  InstallationInUse,
  HostClaimed,
  InstallationMoved,
  WrongLogsDatabase,
  PostgresCrashLoopError,
  PostgresStartError,
]

/** Describes an error to the operator, with a stack trace only if the error is a defect of Shoal. */
function describeError(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}\nIs Shoal already running? Otherwise, set the setting of this port (SHOAL_PORT, SHOAL_GATEWAY_PORT, SHOAL_HEALTH_PORT, SHOAL_TLS_PORT or SHOAL_TLS_REDIRECT_PORT) to a free port.`
  if (isAddressError(error))
    return `${error.message}\nIs SHOAL_HOST an address of this machine, and may this user listen on its ports?`
  if (error instanceof Error && operatorErrors.some((kind) => error instanceof kind)) return error.message
  if (isUnavailable(error)) return `${safeText(error)}\nIs Postgres running, and is DATABASE_URL correct?`
  return safeStack(error)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  if (!(error instanceof ReportedError)) process.stderr.write(`${describeError(error)}\n`)
  process.exit(1)
}
