import { boolean, email, enum as oneOf, literal, object, string } from 'zod'

/** This module has what forms need for validation. `FormShell` loads it on demand; pages never import it. */
export { zodResolver } from '@hookform/resolvers/zod'
export { contract, limits, SecretName, SecretValue, SquidName, TagName, TokenName } from '@shoal/contract'
export { newPasswordTwice } from './new-password.ts'

/** The functions of zod that forms use in addition to the contract's schemas. All of zod would double the size of this module. */
export const z = { boolean, email, enum: oneOf, literal, object, string }
