import { limits, NewPassword } from '@shoal/contract'
import { z } from 'zod'

const tooShort = `Must be at least ${limits.passwordMin} characters`

/** The schema of a form with a new password, its confirmation, and the fields `others` (spec 5). */
export const newPasswordTwice = <S extends z.ZodRawShape>(others: S) =>
  z
    .object({
      ...others,
      password: NewPassword,
      confirmPassword: z.string().min(1, 'Password confirm is required').min(limits.passwordMin, tooShort),
    })
    .refine((form) => 'password' in form && form.password === form.confirmPassword, {
      message: 'Passwords must match',
      path: ['confirmPassword'],
    })
