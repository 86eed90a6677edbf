/** Form and wire fields with the messages of spec 5, shared by browser and server. */
import { z } from 'zod'
import { limits } from './limits.ts'

/** A string; `required` is the message of spec 5 for a missing field. */
const text = (required: string) => z.string({ error: ({ input }) => (input === undefined ? required : undefined) })

/** A trimmed, non-empty string; `required` is the message for an empty one. */
export const RequiredText = (required: string) => text(required).trim().min(1, required)

/** Like `RequiredText`, but not trimmed: for passwords and tokens. */
export const RequiredVerbatim = (required: string) => text(required).min(1, required)

/** Times on the wire are ISO strings; handlers may return a Date. */
export const Time = z.union([z.iso.datetime(), z.date().transform((d) => d.toISOString())]).pipe(z.iso.datetime())

/** `from` and `to` of queries: ISO times. */
export const TimeParam = z.iso.datetime({ offset: true, local: true }).or(z.iso.date())

export const Id = z.number().int().nonnegative()

/** A numeric id in a path or query. */
export const IdParam = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)

/** A requested number of items, 1 to `max`. A larger number is rejected, not silently reduced. */
export const CountParam = (name: string, max: number) => {
  const message = `${name} must be between 1 and ${max}`
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .pipe(z.number().min(1, message).max(max, message))
}

const emailField = (invalid: string) =>
  RequiredText('Email is required')
    .max(254, invalid)
    .pipe(z.email(invalid))
    .transform((email) => email.toLowerCase())

export const Email = emailField('Must be valid email')
/** The email of an organization, for which spec 5 has a different message. */
export const OrgEmail = emailField('Email must be valid')

export const NewPassword = RequiredVerbatim('Password is required')
  .min(limits.passwordMin, `Must be at least ${limits.passwordMin} characters`)
  .max(limits.passwordMax, `Must be at most ${limits.passwordMax} characters`)

export const Password = RequiredVerbatim('Password is required').max(1000)

/**
 * Characters that break or reorder lines, or that are not visible, so that a name looks like another one. The joiners U+200C and
 * U+200D are allowed in emojis and after letters of scripts other than Latin, where they change how text is displayed.
 */
export const hiddenCharacters =
  /[\p{Cc}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]|(?![\u200C\u200D])\p{Cf}|(?<![\p{Extended_Pictographic}\p{M}]|(?!\p{Script=Latin})\p{L})[\u200C\u200D]/gu

/** What email programs turn into links, except a domain without a path, which may be a name. */
const link = /:\/\/|\bwww\.|[\p{L}\p{N}]\.\p{L}{2,}\//iu

/** A trimmed display name on one line. Emails show names to other users, so names contain neither links nor hidden characters. */
export const DisplayName = (required: string) =>
  RequiredText(required).refine(
    (name) => name.search(hiddenCharacters) < 0 && !link.test(name),
    'Links, control characters and invisible characters are not allowed',
  )

export const PersonName = (required: string) =>
  DisplayName(required)
    .max(100)
    .regex(/^[^<>/:]*$/, 'Special symbols are not allowed')

export const OrgName = DisplayName('Name is required')
  .min(limits.orgNameMin, 'Min 3, max 100 symbols.')
  .max(limits.orgNameMax, 'Min 3, max 100 symbols.')

const hyphenated = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/
const hyphenatedMessage = 'Only lowercase alphanumeric symbols and hyphens are allowed'

export const OrgCode = RequiredText('Code is required')
  .regex(hyphenated, hyphenatedMessage)
  .min(limits.orgCodeMin, 'Min 3, max 64 symbols.')
  .max(limits.orgCodeMax, 'Min 3, max 64 symbols.')

// In a separate file, so that the form that suggests a code does not load zod.
export { orgCodeFromName } from './org-code.ts'

export const SquidName = RequiredText('Squid name is required')
  .regex(hyphenated, hyphenatedMessage)
  .min(limits.squidNameMin, 'Min 3, max 30 symbols.')
  .max(limits.squidNameMax, 'Min 3, max 30 symbols.')

export const Slot = z.string().regex(hyphenated, hyphenatedMessage).min(limits.slotMin).max(limits.slotMax)
export const TagName = z
  .string()
  .regex(hyphenated, hyphenatedMessage)
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

export const TokenName = DisplayName('Token name is required and must be unique').max(100)
