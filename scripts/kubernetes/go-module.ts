import { runCommand } from '../command.ts'
import { goEnvironment, goProgram } from './go.ts'

/**
 * Downloads a Go module into Go's cache, and returns its folder there.
 * @throws with the output of Go if that is not possible
 */
export async function goModule(path: string, version: string): Promise<string> {
  const { code, output } = await runCommand(goProgram(), ['mod', 'download', '-json', `${path}@${version}`], {
    env: goEnvironment(),
    cwd: '/',
  })
  const [json = '{}'] = /\{[^]*\}/.exec(output) ?? []
  const { Dir: folder } = JSON.parse(json) as { Dir?: string }
  if (code !== 0 || !folder) throw new Error(`${path} ${version} cannot be downloaded: ${output}`)
  return folder
}
