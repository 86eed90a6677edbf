import { z } from 'zod'
import { countryCodes } from './countries.ts'
import { DisplayName, RequiredText } from './fields.ts'
import { orgStatuses } from './org-status.ts'

/** A saved card, or an account of Link, the wallet of Stripe. */
export const PaymentMethod = z.object({
  id: z.string(),
  card: z.object({ last4: z.string(), exp_month: z.number(), exp_year: z.number() }).nullable(),
  link: z.object({ email: z.string() }).nullable(),
})
export type PaymentMethod = z.infer<typeof PaymentMethod>

export const BillingSettings = z.object({
  /** `test`: no real charges; Stripe's test card numbers determine the result. */
  provider: z.enum(['stripe', 'test']),
  /** Stripe's publishable key, for its own form; null with the test provider. */
  publishableKey: z.string().nullable(),
  /** The secret with which the card form sets up a new payment method. */
  create: z.object({ clientSecret: z.string() }),
  /** The first one is the default, which is charged. */
  existing: z.array(PaymentMethod),
})
export type BillingSettings = z.infer<typeof BillingSettings>

export const PaymentMethods = z.object({ status: z.enum(orgStatuses), existing: z.array(PaymentMethod) })

/** The billing details form (spec 5). */
export const BillingDetailsForm = z.object({
  name: DisplayName('Name is required').max(200),
  email: RequiredText('Email is required').max(254).pipe(z.email('Must be valid email')),
  /** Two letters, ISO 3166-1. */
  country: RequiredText('Country is required')
    .transform((country) => country.toUpperCase())
    .pipe(
      z.string().refine((country) => countryCodes.includes(country), 'Country must be a two-letter code of ISO 3166-1'),
    ),
  city: DisplayName('City is required').max(200),
  postalCode: DisplayName('ZIP code is required').max(20),
  addressLine1: DisplayName('Address is required').max(200),
  vatId: z.string().trim().max(50).nullish(),
})

/** Sent by the card form that the console shows instead of Stripe's if the provider is `test`. */
export const TestCard = z.object({
  clientSecret: z.string(),
  number: z
    .string()
    .transform((number) => number.replaceAll(/\s/g, ''))
    .pipe(z.string().regex(/^\d{12,19}$/, 'Your card number is incomplete.')),
  expMonth: z.number().int().min(1).max(12),
  expYear: z.number().int().min(2000).max(2100),
  cvc: z.string().regex(/^\d{3,4}$/, "Your card's security code is incomplete."),
  /** The result of the bank's authentication; omitted in the first request. */
  authentication: z.enum(['complete', 'fail']).optional(),
})
