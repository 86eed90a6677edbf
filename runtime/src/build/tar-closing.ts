import type { Unpack } from 'tar'

/**
 * Resolves when tar has closed all files and finished its work in the folder, even after a failure. Call this before the first
 * write. After the last write, call `unpack.end()`, and await the promise before you delete the folder; otherwise tar may still
 * create files in it.
 */
export function whenClosed(unpack: Unpack): Promise<void> {
  return new Promise((resolve) => {
    unpack.once('end', resolve)
    // If tar aborts, which it does only before the first entry, it emits no `end`.
    unpack.once('abort', resolve)
    // If `cwd` does not exist, tar emits only an error.
    unpack.on('error', (error) => {
      if (error instanceof Error && error.name === 'CwdError') resolve()
    })
  })
}
