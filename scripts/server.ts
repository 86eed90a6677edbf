import { join } from 'node:path'
import { root } from './root.ts'

/**
 * Arguments of Node that run the server. They limit the young generation of the heap, which would otherwise grow to three times 32 MB
 * while Node loads the sources, and never shrink: a third of the memory of an idle server.
 */
export const serverArguments = ['--max-semi-space-size=8', join(root, 'server/src/main.ts')]

/** Replaces this process with the server, which then handles signals and sets the exit code. */
export function becomeServer(): never {
  if (!process.execve) throw new Error('This Node cannot replace a process')
  return process.execve(process.execPath, [process.execPath, ...serverArguments, ...process.argv.slice(2)])
}
