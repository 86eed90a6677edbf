import { createProcessDirectory } from './process-directory.ts'

/** Runs a directory in a separate process, which tests query over the IPC channel. */
const directory = createProcessDirectory({ stateDir: process.argv[2] ?? '' })
const changes: string[] = []
await directory.start()
directory.changed((id, container) => changes.push(`${id}/${container}`))
process.on('message', ({ query }: { query: [string, string, number] | null }) => {
  process.send?.(query ? directory.endpoint(...query) : changes.splice(0))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
