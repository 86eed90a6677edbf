import type { Db } from '../../db/database.ts'
import { notFound } from '../../errors.ts'
import { selectSquidBySlot, selectSquidByTag, type SquidRow } from './store.ts'

type Reference = { name: string; slot: string } | { name: string; tag: string }

/** Parses `name@slot` or `name:tag`; null for anything else. */
function parseReference(text: string): Reference | null {
  const [, name = '', separator, suffix = ''] = /^([a-z0-9-]{1,64})([@:])([a-z0-9-]{1,64})$/.exec(text) ?? []
  if (separator === '@') return { name, slot: suffix }
  return separator === ':' ? { name, tag: suffix } : null
}

/**
 * Resolves `name@slot` or `name:tag`. `reference` is null if the text is malformed; `squid` is null if the organization has no such
 * version.
 */
export async function resolveReference(
  db: Db,
  orgId: number,
  text: string,
): Promise<{ reference: Reference | null; squid: SquidRow | null }> {
  const reference = parseReference(text)
  if (!reference) return { reference, squid: null }
  const squid =
    'slot' in reference
      ? await selectSquidBySlot(db, orgId, reference.name, reference.slot)
      : await selectSquidByTag(db, orgId, reference.name, reference.tag)
  return { reference, squid }
}

/** Resolves `name@slot` or `name:tag` to a version of the organization. @throws Refusal 404 if there is none */
export async function findSquid(db: Db, orgId: number, reference: string): Promise<SquidRow> {
  const { squid } = await resolveReference(db, orgId, reference)
  if (!squid) throw notFound(`Squid ${reference.slice(0, 100)}`)
  return squid
}
