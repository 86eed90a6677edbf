import { globSync, readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../../../root.ts'

/** Matches the functions at the top level of a file. */
const functionPattern =
  /^(?:export )?(?:(?:async )?function\*? (\w+)|const (\w+)(?:: [^=]+)? = (?:async )?(?:\(|<|\w+ =>))/gm

/** Returns the functions at the top level of the server's store files, as `path#name`. All functions that send SQL are among them. */
function storeFunctions(): string[] {
  const files = globSync('server/src/**/{store,*-store}.ts', { cwd: root }).filter(
    (file) => !file.includes('/testing/'),
  )
  return files.toSorted().flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8')
    return [...source.matchAll(functionPattern)].map(([, name, constant]) => `${file}#${name ?? constant}`)
  })
}

/** Starts recording which functions of store files this process calls. */
export async function startStoreCoverage(): Promise<{ uncalled: () => Promise<string[]> }> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return {
    /** Stops the recording, and returns the functions that this process has not called, as `path#name`. */
    uncalled: async () => {
      const { result } = await session.post('Profiler.takePreciseCoverage')
      session.disconnect()
      const called = new Set(
        result.flatMap(({ url, functions }) =>
          functions
            .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
            .map(({ functionName }) => `${url}#${functionName}`),
        ),
      )
      const urlOf = (file: string) => pathToFileURL(join(root, file)).href
      return storeFunctions().filter((name) => {
        const [file = '', functionName] = name.split('#')
        return !called.has(`${urlOf(file)}#${functionName}`)
      })
    },
  }
}
