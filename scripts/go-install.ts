import { runCommand } from './command.ts'

/** Returns whether Go is on the PATH. */
export const hasGo = async (): Promise<boolean> => (await runCommand('go', ['version'])).code === 0

/**
 * Builds programs of Go modules into a folder. If Go fails, for example offline, returns false and prints why tests are skipped.
 * @param name of the software that the programs are part of, for the message
 * @param programs as `package@version`
 */
export async function goInstall(name: string, folder: string, programs: string[]): Promise<boolean> {
  const args = ['go', 'install', '-trimpath', '-ldflags=-s -w', ...programs]
  const env = { ...process.env, CGO_ENABLED: '0', GOBIN: folder }
  const { code, output } = await runCommand('nice', args, { env, cwd: folder })
  if (code !== 0) console.log(`${name} cannot be built. Tests that need it are skipped.\n${output.trim().slice(-500)}`)
  return code === 0
}
