import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Agent, request } from 'undici'

const places = [
  '/run/shoal',
  `/run/user/${process.getuid?.() ?? 0}/shoal`,
  `${tmpdir()}/shoal-${process.getuid?.() ?? 0}`,
]

/** The unix socket that the container of a squid's API listens on, told apart from others by what it answers at `path`. */
export async function findSocket(path: string, isRight: (answer: string) => boolean): Promise<string> {
  for (const socketPath of places.flatMap((place) => globSync(`${place}/*/*/*.sock`))) {
    const dispatcher = new Agent({ connect: { socketPath } })
    const answer = await request(`http://localhost${path}`, { dispatcher })
      .then(({ body }) => body.text())
      .catch(() => '')
    await dispatcher.close()
    if (isRight(answer)) return socketPath
  }
  throw new Error('No container answers on its socket: does the runtime keep them elsewhere now?')
}
