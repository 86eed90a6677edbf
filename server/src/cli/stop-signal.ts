/** Aborts on SIGINT and SIGTERM, so that commands can clean up. npm forwards the Ctrl-C of a terminal, so a signal may arrive twice. */
export function stopSignal(): AbortSignal {
  const stopController = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => stopController.abort(new Error('Interrupted: nothing was changed.')))
  return stopController.signal
}
