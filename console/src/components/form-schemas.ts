import { boolean, email, enum as oneOf, literal, object, string } from 'zod'

/** What forms validate with; loaded by FormShell when it is needed, never imported by a page. */
export { zodResolver } from '@hookform/resolvers/zod'
export { contract, limits, SecretName, SecretValue, SquidName, TagName, TokenName } from '@shoal/contract'
export { newPasswordTwice } from './new-password.ts'

/** The part of zod that forms add to the contract's schemas. All of it would be twice the size. */
export const z = { boolean, email, enum: oneOf, literal, object, string }
