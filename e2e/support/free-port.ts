import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Returns a port on which nothing listens. It is below the range that the kernel uses for outgoing connections, so that no such
 * connection occupies it before the caller listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768)
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer()
        .once('error', () => resolve(false))
        .listen(port, '0.0.0.0', () => probe.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}
