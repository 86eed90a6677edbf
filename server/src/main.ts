import { loadConfig, type Config } from './config.ts'
import { safeStack } from './db/safe-error.ts'
import { createGateway } from './gateway/gateway.ts'
import { createHttpApp } from './http/app.ts'
import { claimHost, HostClaimed, watchClaim } from './installation/host-claim.ts'
import { holdInstallation, InstallationInUse, needsAlone } from './installation/installation.ts'
import { takeWorkerTurn } from './installation/worker-turn.ts'
import { listen } from './listener.ts'
import { openApp } from './open-app.ts'
import { MissingKeys } from './require-keys.ts'
import { startupText } from './startup-text.ts'
import { startWorker } from './worker.ts'

/** Starts the roles this process was given, says where to find them, and ends in order on SIGINT and SIGTERM. */
async function main(): Promise<void> {
  const startedMs = performance.now()
  const told = untilTold()
  const failure = Promise.withResolvers<never>()
  const config = loadConfig()
  // Told while it starts, it still ends what it has started.
  await using stack = new AsyncDisposableStack()
  await start(config, stack, failure.reject)
  process.stdout.write(startupText(config, performance.now() - startedMs))
  await Promise.race([told, failure.promise])
  process.stdout.write(`\nStopping${config.SHOAL_ON_EXIT === 'stop' ? ' the squids and' : ''} the server …\n`)
}

/**
 * First of all it proves that this process may use the data directory and has its ports; before that nothing is touched.
 * What is put on the stack is ended in reverse, also when a later part does not start.
 */
async function start(config: Config, stack: AsyncDisposableStack, failed: (error: unknown) => void): Promise<void> {
  const has = (role: (typeof config.SHOAL_ROLES)[number]) => config.SHOAL_ROLES.includes(role)
  const installation = await holdInstallation(config, { alone: needsAlone(config), roles: config.SHOAL_ROLES })
  stack.defer(installation.release)
  const apiPort = has('api') ? await listenOn(config.SHOAL_PORT) : null
  const gatewayPort = has('gateway') ? await listenOn(config.SHOAL_GATEWAY_PORT) : null

  const { app, openWorker, close } = await openApp(config, installation)
  stack.defer(() => close(config.SHOAL_ON_EXIT))
  if (has('worker')) {
    const work = async () => {
      const workerApp = await openWorker()
      await claimHost(workerApp)
      for (const sentence of await workerApp.runtime.start()) app.log.warn(sentence)
      const worker = await startWorker(workerApp)
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
    const turn = await takeWorkerTurn({ config, log: app.log, work, failed })
    stack.defer(turn.close)
  }
  if (gatewayPort) {
    const { close: closeGateway, ...answering } = await createGateway(app)
    stack.defer(closeGateway)
    gatewayPort.answerBy(answering)
    stack.defer(gatewayPort.close)
  }
  if (apiPort) {
    const http = await createHttpApp(app)
    stack.defer(() => http.close())
    await http.ready()
    apiPort.answerBy({ request: (req, res) => http.routing(req, res) })
    stack.defer(apiPort.close)
  }

  async function listenOn(port: number) {
    const listener = await listen(port, config.SHOAL_HOST)
    stack.defer(listener.close)
    return listener
  }
}

/** npm passes on the Ctrl-C that the terminal has sent already; only a later signal is a second one, and ends the process at once. */
const samePressMs = 1_500

const untilTold = () =>
  new Promise<void>((done) => {
    let toldMs: number | null = null
    const told = () => {
      if (toldMs !== null && performance.now() - toldMs > samePressMs) process.exit(130)
      toldMs ??= performance.now()
      done()
    }
    process.on('SIGINT', told)
    process.on('SIGTERM', told)
  })

/** What went wrong in words of the operator; a stack only when it is our own fault. */
function explain(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}\nIs Shoal running already? Otherwise set SHOAL_PORT and SHOAL_GATEWAY_PORT to free ports.`
  if (error instanceof MissingKeys || error instanceof InstallationInUse || error instanceof HostClaimed)
    return error.message
  return safeStack(error)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
}
