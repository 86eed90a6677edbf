import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { PLAIN_ENV } from '../process/sandbox.ts'

export type SystemUser = { uid: number; gid: number }

/**
 * Finds or creates a user for Postgres, which refuses to run as root and needs a uid that has a name.
 * @throws Error when the host has no such user and does not allow adding one
 */
export function findOrCreateUser(name: string): SystemUser {
  const existing = findUser(name)
  if (existing) return existing
  try {
    execFileSync('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', name], {
      env: PLAIN_ENV,
      stdio: 'pipe',
    })
  } catch (error) {
    throw new Error(
      `Postgres cannot run as root, and the user "${name}" could not be added. Add it, or run Shoal as an ordinary user.`,
      { cause: error },
    )
  }
  const created = findUser(name)
  if (!created) throw new Error(`The user "${name}" was added but is not in /etc/passwd.`)
  return created
}

function findUser(name: string): SystemUser | null {
  if (!existsSync('/etc/passwd')) return null
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((l) => l.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) }
}
