import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from './service.ts'

/** One change of the machine. `isDone` returns true if the machine already has the change, so that an installation can be repeated. */
export type Step = { text: string; isDone: () => boolean; run: () => void | Promise<void> }

/** Runs the steps that are not done; with `isDry`, only prints them. Returns true if at least one was not done. */
export async function runSteps(
  steps: Step[],
  { isDry, print }: { isDry: boolean; print: (line: string) => void },
): Promise<boolean> {
  let hasChanged = false
  for (const { text, isDone, run: change } of steps) {
    if (isDone()) {
      print(`  unchanged  ${text}`)
      continue
    }
    hasChanged = true
    print(`  ${isDry ? 'would    ' : 'now      '}  ${text}`)
    if (!isDry) await change()
  }
  return hasChanged
}

/** Returns the numeric ids of a user. @throws Error if the user does not exist */
function idsOf(user: string): { uid: number; gid: number } {
  return { uid: Number(run('id', ['-u', user])), gid: Number(run('id', ['-g', user])) }
}

/** Returns whether the user owns the file or folder; false if the user does not exist yet. */
function isOwnedBy({ uid }: Stats, user: string): boolean {
  try {
    return uid === idsOf(user).uid
  } catch {
    return false
  }
}

const octal = (mode: number) => mode.toString(8).padStart(4, '0')

/** Creates a folder with this mode and owner. */
export function folderStep(path: string, mode: number, user: string): Step {
  return {
    text: `folder ${path} (mode ${octal(mode)}, owner ${user})`,
    isDone: () => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found?.isDirectory() === true && (found.mode & 0o777) === mode && isOwnedBy(found, user)
    },
    run: () => {
      mkdirSync(path, { recursive: true })
      const { uid, gid } = idsOf(user)
      chownSync(path, uid, gid)
      chmodSync(path, mode)
    },
  }
}

/** Writes a file with this mode and owner. Replaces an existing file as a whole. */
export function fileStep(path: string, content: string, mode: number, user = 'root'): Step {
  return {
    text: `file ${path} (mode ${octal(mode)}, owner ${user})`,
    isDone: () => {
      const found = statSync(path, { throwIfNoEntry: false })
      const isRight = found?.isFile() === true && (found.mode & 0o777) === mode && isOwnedBy(found, user)
      return isRight && readFileSync(path, 'utf8') === content
    },
    run: () => {
      mkdirSync(dirname(path), { recursive: true })
      const { uid, gid } = idsOf(user)
      writeFileSync(`${path}.new`, content, { mode })
      chownSync(`${path}.new`, uid, gid)
      chmodSync(`${path}.new`, mode)
      renameSync(`${path}.new`, path)
    },
  }
}

/** Removes a file. */
export function removalStep(path: string): Step {
  return { text: `no file ${path}`, isDone: () => !existsSync(path), run: () => rmSync(path) }
}

/** Creates a system user without a password or a shell. */
export function userStep(user: string, home: string): Step {
  return {
    text: `system user ${user}`,
    isDone: () => {
      try {
        return idsOf(user).uid >= 0
      } catch {
        return false
      }
    },
    run: () =>
      void run('useradd', [
        '--system',
        '--user-group',
        '--home-dir',
        home,
        '--no-create-home',
        '--shell',
        '/usr/sbin/nologin',
        user,
      ]),
  }
}

/** Copies a release to the folder of its version. The copy gets its name only when it is complete. */
export function releaseStep(from: string, to: string): Step {
  return {
    text: `release in ${to}`,
    isDone: () => existsSync(join(to, 'bin/shoal')),
    run: () => {
      mkdirSync(dirname(to), { recursive: true, mode: 0o755 })
      cpSync(from, `${to}.part`, { recursive: true, verbatimSymlinks: true, force: true })
      run('chown', ['-R', 'root:root', `${to}.part`])
      run('chmod', ['-R', 'go+rX,go-w', `${to}.part`])
      renameSync(`${to}.part`, to)
    },
  }
}
