import { loadConfig } from './config.ts'
import { createGateway } from './gateway/gateway.ts'
import { createHttpApp } from './http/app.ts'
import { noteServer, openApp } from './open-app.ts'
import { startupText } from './startup-text.ts'
import { startWorker } from './worker.ts'

/** Starts the roles this process was given, says where to find them, and ends in order on SIGINT and SIGTERM. */
async function main(): Promise<void> {
  const startedMs = performance.now()
  const config = loadConfig()
  const { app, close } = await openApp(config)
  const closers: (() => Promise<unknown>)[] = []
  const forget = noteServer(config)
  if (config.SHOAL_ROLES.includes('worker')) {
    const shortcomings = await app.driver.start()
    for (const sentence of shortcomings) app.log.warn(sentence)
    const worker = await startWorker(app)
    closers.push(() => worker.close())
  }
  if (config.SHOAL_ROLES.includes('gateway')) {
    const gateway = await createGateway(app)
    await gateway.listen(config.SHOAL_GATEWAY_PORT, config.SHOAL_HOST)
    closers.push(() => gateway.close())
  }
  if (config.SHOAL_ROLES.includes('api')) {
    const http = await createHttpApp(app)
    await http.listen({ port: config.SHOAL_PORT, host: config.SHOAL_HOST })
    closers.push(() => http.close())
  }
  process.stdout.write(startupText(config, performance.now() - startedMs))
  await untilTold()
  process.stdout.write(`\nStopping${config.SHOAL_ON_EXIT === 'stop' ? ' the squids and' : ''} the server …\n`)
  for (const end of closers.toReversed()) await end()
  await close(config.SHOAL_ON_EXIT)
  forget()
}

/** A second signal ends the process at once. */
const untilTold = () =>
  new Promise<void>((done) => {
    const told = () => {
      done()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
    }
    process.once('SIGINT', told)
    process.once('SIGTERM', told)
  })

/** What went wrong in words of the operator; a stack only when it is our own fault. */
function explain(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}\nIs Shoal running already? Otherwise set SHOAL_PORT and SHOAL_GATEWAY_PORT to free ports.`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
}
