import type { Db } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { selectSquidBySlot, selectSquidByTag, type SquidRow } from './store.ts'

export type Reference = { name: string; slot: string } | { name: string; tag: string }

/** `name@slot` or `name:tag` (contract 3); null for anything else. */
export function parseReference(text: string): Reference | null {
  const [, name = '', kind, rest = ''] = /^([a-z0-9-]{1,64})([@:])([a-z0-9-]{1,64})$/.exec(text) ?? []
  if (kind === '@') return { name, slot: rest }
  return kind === ':' ? { name, tag: rest } : null
}

/** The version of an organization that a reference names; null if there is none. */
export async function lookUpSquid(db: Db, orgId: number, reference: string): Promise<SquidRow | null> {
  const parsed = parseReference(reference)
  if (!parsed) return null
  return 'slot' in parsed
    ? await selectSquidBySlot(db, orgId, parsed.name, parsed.slot)
    : await selectSquidByTag(db, orgId, parsed.name, parsed.tag)
}

/** @throws Refusal 404 */
export async function findSquid(db: Db, orgId: number, reference: string): Promise<SquidRow> {
  const squid = await lookUpSquid(db, orgId, reference)
  if (!squid) throw notFound(`Squid ${reference.slice(0, 100)}`)
  return squid
}
