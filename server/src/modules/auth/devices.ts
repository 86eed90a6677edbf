import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Request } from '../call.ts'
import type { Account } from './account-store.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'

const cookieName = 'shoal_device'
const sealContext = 'sign-in-device'
const lifetimeMs = days(90)

const Device = z.object({ id: z.string(), userId: z.number(), password: z.string(), expiresAtMs: z.number() })

/**
 * Sets a cookie that marks the browser as a device of the account owner, who has just signed in. Failed sign-ins elsewhere then do not lock the owner
 * out of this browser. Changing the password invalidates the cookie.
 */
export function rememberDevice(app: App, account: Account, request: Request): void {
  const expiresAtMs = app.clock.now().getTime() + lifetimeMs
  const device = { id: randomUUID(), userId: account.id, password: passwordVersion(account), expiresAtMs }
  request.setCookie(cookieName, app.sealer.seal(JSON.stringify(device), sealContext), lifetimeMs)
}

/** Returns the device id of the caller's browser, if the owner of this account has signed in with it; otherwise null. */
export function findDeviceId(app: App, account: Account, request: Request): string | null {
  const cookie = request.cookie(cookieName)
  if (!cookie) return null
  try {
    const device = Device.parse(JSON.parse(app.sealer.open(cookie, sealContext)))
    const isValid = device.expiresAtMs > app.clock.now().getTime() && device.password === passwordVersion(account)
    return isValid && device.userId === account.id ? device.id : null
  } catch {
    return null
  }
}

const passwordVersion = ({ passwordHash }: Account) => hashSecret(passwordHash ?? '').slice(0, 16)
