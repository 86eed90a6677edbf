import { loadConfig, type Config } from './config.ts'
import { createGateway } from './gateway/gateway.ts'
import { createHttpApp } from './http/app.ts'
import { noteServer, openApp } from './open-app.ts'
import { MissingKeys } from './require-keys.ts'
import { safeStack } from './db/safe-error.ts'
import { startupText } from './startup-text.ts'
import { startWorker } from './worker.ts'

/** Starts the roles this process was given, says where to find them, and ends in order on SIGINT and SIGTERM. */
async function main(): Promise<void> {
  const startedMs = performance.now()
  const told = untilTold()
  const config = loadConfig()
  // Told while it starts, it still ends what it has started.
  await using stack = new AsyncDisposableStack()
  await start(config, stack)
  process.stdout.write(startupText(config, performance.now() - startedMs))
  await told
  process.stdout.write(`\nStopping${config.SHOAL_ON_EXIT === 'stop' ? ' the squids and' : ''} the server …\n`)
}

/** What is put on the stack is ended in reverse, also when a later part does not start. */
async function start(config: Config, stack: AsyncDisposableStack): Promise<void> {
  const { app, close } = await openApp(config)
  stack.defer(() => close(config.SHOAL_ON_EXIT))
  stack.defer(noteServer(config))
  const has = (role: (typeof config.SHOAL_ROLES)[number]) => config.SHOAL_ROLES.includes(role)
  if (has('worker')) {
    for (const sentence of await app.driver.start()) app.log.warn(sentence)
    const worker = await startWorker(app)
    stack.defer(worker.close)
  }
  if (has('gateway')) {
    const gateway = await createGateway(app)
    stack.defer(gateway.close)
    await gateway.listen(config.SHOAL_GATEWAY_PORT, config.SHOAL_HOST)
  }
  if (has('api')) {
    const http = await createHttpApp(app)
    stack.defer(() => http.close())
    await http.listen({ port: config.SHOAL_PORT, host: config.SHOAL_HOST })
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
  if (error instanceof MissingKeys) return error.message
  return safeStack(error)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
}
