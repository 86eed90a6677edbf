import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { releaseName } from '../../scripts/release/stage-release.ts'
import { repositoryRoot } from './shoal.ts'

const git = (...args: string[]) => execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8' }).trim()

/** `version` and `newestMigration` of the previous release, from the source of this one. */
function readPrevious(): { version: string; newestMigration: string } {
  const source = readFileSync(join(repositoryRoot, 'server/src/db/migrate.ts'), 'utf8')
  const [, version = '', newestMigration = ''] =
    /previousRelease = \{ version: '([^']+)', newestMigration: '([^']+)'/.exec(source) ?? []
  return { version, newestMigration }
}

/** The version of the previous release. */
export const previousVersion: string = readPrevious().version

/** Returns the last commit that has only the migrations of the previous release; null if git has no history. */
export function commitOfPreviousRelease(): string | null {
  const { newestMigration: newest } = readPrevious()
  const names = readdirSync(join(repositoryRoot, 'server/migrations')).filter((name) => name.endsWith('.sql'))
  const later = names.filter((name) => name > newest)
  // If this release has no migration yet, the commit is the one before the newest migration.
  const paths = (later.length > 0 ? later : [newest]).map((name) => `server/migrations/${name}`)
  try {
    const commit = git('log', '--diff-filter=A', '--format=%H', '--', ...paths)
      .split('\n')
      .at(-1)
    return git('rev-parse', '--verify', '--quiet', `${commit}^`)
  } catch {
    return null
  }
}

/**
 * Builds the archive of the previous release from a clone in `folder`, with the release command and the locked packages of its commit, and
 * returns the path of the archive. @throws Error with the output of the command if it fails
 */
export function buildPreviousRelease(commit: string, folder: string): string {
  const [clone, to] = [join(folder, 'previous'), join(folder, 'previous-dist')]
  git('clone', '--quiet', '--shared', '--no-checkout', repositoryRoot, clone)
  git('-C', clone, 'checkout', '--quiet', commit)
  const args = ['run', '--silent', 'release', '--', '--to', to, '--version', previousVersion]
  execFileSync('npm', args, { cwd: clone, stdio: 'pipe' })
  return join(to, `${releaseName(previousVersion)}.tar.gz`)
}
