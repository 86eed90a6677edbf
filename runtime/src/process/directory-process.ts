import { createProcessDirectory } from './process-directory.ts'

/** For tests: a directory in a process of its own, asked over the channel to its parent. */
const directory = createProcessDirectory({ stateDir: process.argv[2] ?? '' })
const changes: string[] = []
await directory.start()
directory.changed((id, container) => changes.push(`${id}/${container}`))
process.on('message', ({ asked }: { asked: [string, string, number] | null }) => {
  process.send?.(asked ? directory.endpoint(...asked) : changes.splice(0))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
