import { limits } from '@shoal/contract'
import { randomInt } from 'node:crypto'
import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { invalidField } from '../../errors.ts'
import { isReservedCode } from '../../reserved-codes.ts'
import { releaseFormerCode, reservedUntil } from './former-codes-store.ts'
import { addRole } from './role-store.ts'
import { addOrg, isBeingDeleted, type OrgRow } from './store.ts'

export type NewOrg = { code: string; name: string; email: string; adminId: number }
export type CreatedOrg = OrgRow & { adminRoleId: number }

/**
 * Creates an organization with its first administrator. Its status is `DRAFT`: it cannot deploy until a user adds a card.
 * @throws Refusal 400 on the field `code` when the code is taken or reserved, or belonged to an organization that other users
 * administered, until 90 days after its deletion
 */
export async function createOrg(app: App, input: NewOrg & { isEmailConfirmed?: boolean }): Promise<CreatedOrg> {
  if (isReservedCode(input.code)) throw codeTaken()
  const now = app.clock.now()
  return app.db.transaction(async (tx) => {
    const org = await addOrg(tx, {
      code: input.code,
      name: input.name,
      ...(input.isEmailConfirmed === false ? { pendingEmail: input.email } : { email: input.email }),
      squidsLimit: limits.organizationSquids,
      createdAt: now,
    })
    if (!org) throw (await isBeingDeleted(tx, input.code)) ? codeBeingDeleted() : codeTaken()
    // After the insert, which waits for a concurrent deletion of the organization that had the code.
    const until = await reservedUntil(tx, input.code, input.adminId, now)
    if (until) throw codeReserved(until)
    await releaseFormerCode(tx, input.code)
    const admin = await addAdmin(tx, org.id, input.adminId, now)
    return { ...org, adminRoleId: admin.id }
  })
}

/** Creates the playground of a user. Must run in the transaction that creates the user's account. */
export async function createPlayground(db: Db, userId: number, now: Date): Promise<OrgRow> {
  const org = await addOrg(db, {
    code: playgroundCode(),
    name: 'Playground',
    isPlayground: true,
    squidsLimit: limits.playgroundSquids,
    createdAt: now,
  })
  if (!org) throw new Error('The generated playground code is taken')
  await addAdmin(db, org.id, userId, now)
  return org
}

const addAdmin = (db: Db, orgId: number, userId: number, now: Date) =>
  addRole(db, { orgId, userId, type: 'admin', createdAt: now })

/** Generates a code of 13 characters: `sqd -r` accepts at most 30, which is too short for a UUID. */
function playgroundCode(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
  return `pg-${Array.from({ length: 10 }, () => alphabet[randomInt(alphabet.length)]).join('')}`
}

const codeBeingDeleted = () =>
  invalidField(
    'code',
    'An organization with this code is being deleted. Its administrators can use the code again once its squids are removed and its last invoice is settled.',
  )

const codeReserved = (until: Date) =>
  invalidField(
    'code',
    `An organization with this code was deleted. Until ${until.toISOString().slice(0, 10)}, only its former administrators can use the code. Please choose another one.`,
  )

const codeTaken = () => invalidField('code', 'This code is already taken. Please choose another one.')
