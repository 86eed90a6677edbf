import type { OperatorSquid } from '@shoal/contract'

/** `name@slot` */
export function referenceOf({ name, slot }: Pick<OperatorSquid, 'name' | 'slot'>): string {
  return `${name}@${slot}`
}
