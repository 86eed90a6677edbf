/** Form and wire fields with the sentences of spec 5; the browser and the server speak from here. */
import { z } from 'zod'
import { limits } from './limits.ts'

/** A string with the sentence of spec 5 for a field that is left out. */
const text = (required: string) => z.string({ error: ({ input }) => (input === undefined ? required : undefined) })

/** A field that must hold something besides white space, which is cut off around it; `required` is its sentence when it does not. */
export const RequiredText = (required: string) => text(required).trim().min(1, required)

/** As `RequiredText`, with its white space: for passwords and tokens. */
export const RequiredVerbatim = (required: string) => text(required).min(1, required)

/** Times on the wire are ISO strings; handlers may answer a Date. */
export const Time = z.union([z.iso.datetime(), z.date().transform((d) => d.toISOString())]).pipe(z.iso.datetime())

/** `from` and `to` of queries: ISO times; anything else is refused. */
export const TimeParam = z.iso.datetime({ offset: true, local: true }).or(z.iso.date())

export const Id = z.number().int().nonnegative()

/** Digits in a path or query. */
export const IdParam = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)

/** How many of something a query asks for, 1 to `most`: more is refused rather than cut in silence. */
export const CountParam = (name: string, most: number) => {
  const sentence = `${name} must be between 1 and ${most}`
  return z
    .string()
    .regex(/^\d{1,9}$/, sentence)
    .transform(Number)
    .pipe(z.number().min(1, sentence).max(most, sentence))
}

const emailField = (wrong: string) =>
  RequiredText('Email is required')
    .max(254, wrong)
    .pipe(z.email(wrong))
    .transform((email) => email.toLowerCase())

export const Email = emailField('Must be valid email')
/** Spec 5 has words of its own for the form of an organization. */
export const OrgEmail = emailField('Email must be valid')

export const NewPassword = RequiredVerbatim('Password is required')
  .min(limits.passwordMin, `Must be at least ${limits.passwordMin} characters`)
  .max(limits.passwordMax, `Must be at most ${limits.passwordMax} characters`)

export const Password = RequiredVerbatim('Password is required').max(1000)

export const PersonName = (required: string) =>
  RequiredText(required)
    .max(100)
    .regex(/^[^<>/:]*$/, 'Special symbols are not allowed')

export const OrgName = RequiredText('Name is required')
  .min(limits.orgNameMin, 'Min 3, max 100 symbols.')
  .max(limits.orgNameMax, 'Min 3, max 100 symbols.')

const dashed = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/
const dashedMessage = 'Only lowercase alphanumeric symbols and hyphens are allowed'

export const OrgCode = RequiredText('Code is required')
  .regex(dashed, dashedMessage)
  .min(limits.orgCodeMin, 'Min 3, max 64 symbols.')
  .max(limits.orgCodeMax, 'Min 3, max 64 symbols.')

// Apart from the schemas, so that the form that suggests it carries no zod.
export { orgCodeFromName } from './org-code.ts'

export const SquidName = RequiredText('Squid name is required')
  .regex(dashed, dashedMessage)
  .min(limits.squidNameMin, 'Min 3, max 30 symbols.')
  .max(limits.squidNameMax, 'Min 3, max 30 symbols.')

export const Slot = z.string().regex(dashed, dashedMessage).min(limits.slotMin).max(limits.slotMax)
export const TagName = z
  .string()
  .regex(dashed, dashedMessage)
  .min(limits.tagMin, 'Min 2, max 32 symbols.')
  .max(limits.tagMax, 'Min 2, max 32 symbols.')

export const SecretName = RequiredText('Secret name is required')
  .transform((name) => name.toUpperCase())
  .pipe(
    z
      .string()
      .max(limits.secretNameMax, 'Max 63 symbols.')
      .regex(
        /^[A-Z_][A-Z0-9_]*$/,
        'Only latin letters, numbers and the underscore symbol are allowed for the secret name. The secret name cannot start with a number',
      ),
  )
export const SecretValue = RequiredText('Value is required').max(limits.secretValueMax)

export const TokenName = RequiredText('Token name is required and must be unique').max(100)
