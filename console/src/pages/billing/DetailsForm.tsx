import type { Org } from '@shoal/contract'
import { useState } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { seedOrg } from '../../api/seed-session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { toast } from '../../lib/toasts.ts'
import { NativeSelect } from '../../ui/NativeSelect.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { countryOptions } from './countries.ts'

const emptyDetails = { name: '', email: '', country: '', city: '', postalCode: '', addressLine1: '', vatId: '' }

/** A form for the billing details that receipts show (spec 5). */
export function DetailsForm({ org: { code, billingDetails } }: { org: Org }) {
  const [countries] = useState(countryOptions)
  const save = useApiMutation('billing.updateSettings', {
    invalidates: ['user.get', 'billing.getReceipt'],
    seeds: (client, billingDetails) => seedOrg(client, code, { billingDetails }),
    errorDisplay: 'caller',
    onSuccess: () => toast({ tone: 'good', title: 'Billing information has been updated.' }),
  })
  return (
    <FormShell
      schema={({ contract }) => contract.billing.updateSettings.body}
      values={billingDetails ? { ...billingDetails, vatId: billingDetails.vatId ?? '' } : emptyDetails}
      onSubmit={(body) => save.mutate({ params: { code }, body })}
      isPending={save.isPending}
      submitError={save.error}
      submitLabel="Save details"
    >
      {({ field }) => (
        <div className="grid max-w-200 gap-x-4 gap-y-3 sm:grid-cols-2">
          <TextField label="Name" autoComplete="organization" {...field('name')} />
          <TextField label="Billing email" type="email" autoComplete="email" {...field('email')} />
          <TextField label="Address" autoComplete="address-line1" {...field('addressLine1')} />
          <TextField label="City" autoComplete="address-level2" {...field('city')} />
          <TextField label="ZIP code" autoComplete="postal-code" {...field('postalCode')} />
          <NativeSelect
            label="Country"
            autoComplete="country"
            placeholder="Choose"
            options={countries}
            {...field('country')}
          />
          <TextField label="VAT ID (optional)" autoComplete="off" {...field('vatId')} />
        </div>
      )}
    </FormShell>
  )
}
