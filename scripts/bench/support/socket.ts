import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Agent, request } from 'undici'

const socketDirs = [
  '/run/shoal',
  `/run/user/${process.getuid?.() ?? 0}/shoal`,
  `${tmpdir()}/shoal-${process.getuid?.() ?? 0}`,
]

/** Finds the unix socket of a squid's API container, identified by its response at `path`. @throws if no container returns it */
export async function findSocket(path: string, isMatch: (response: string) => boolean): Promise<string> {
  for (const socketPath of socketDirs.flatMap((dir) => globSync(`${dir}/*/*/*.sock`))) {
    const dispatcher = new Agent({ connect: { socketPath } })
    const response = await request(`http://localhost${path}`, { dispatcher })
      .then(({ body }) => body.text())
      .catch(() => '')
    await dispatcher.close()
    if (isMatch(response)) return socketPath
  }
  throw new Error(`No container returned the expected response on a socket in ${socketDirs.join(', ')}`)
}
