import type { BillingLimits } from '@shoal/contract'
import { useApiMutation } from '../../api/mutation.ts'
import { seed } from '../../api/seed.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { toast } from '../../lib/toasts.ts'
import { RadioGroup } from '../../ui/RadioGroup.tsx'
import { TextArea, TextField } from '../../ui/TextField.tsx'

/** The fields of the form, as the user types them. An empty cap means no cap; `hibernateOrder` has one squid name per line. */
type Fields = { spendCapUsd: string; atCap: BillingLimits['atCap']; hibernateOrder: string; rpcRequestsCap: string }

const atCapOptions = [
  {
    value: 'stop_deploys',
    label: 'Stop new deploys',
    description: 'Running squids continue and may exceed the cap.',
  },
  {
    value: 'hibernate',
    label: 'Hibernate squids',
    description: 'One by one until the forecast fits, versions with tags last. Data is kept.',
  },
] as const

/** A form for the monthly caps, and for what happens when spending reaches its cap. */
export function LimitsForm({ code, limits }: { code: string; limits: BillingLimits }) {
  const save = useApiMutation('billing.updateLimits', {
    invalidates: ['billing.getLimits'],
    seeds: (client, changed) => seed(client, 'billing.getLimits', { params: { code } }, () => changed),
    errorDisplay: 'caller',
    onSuccess: () => toast({ tone: 'good', title: 'The limits have been changed' }),
  })
  return (
    <FormShell
      schema={({ z, contract }) =>
        z.object({
          spendCapUsd: z.string().regex(/^\s*(\d{1,7}(\.\d{1,2})?)?\s*$/, 'An amount in dollars, as in 100 or 99.50'),
          atCap: contract.billing.updateLimits.body.shape.atCap,
          hibernateOrder: z.string(),
          rpcRequestsCap: z.string().regex(/^\s*\d{0,12}\s*$/, 'A whole number of requests'),
        })
      }
      values={fieldsOf(limits)}
      onSubmit={(fields) => save.mutate({ params: { code }, body: limitsOf(fields) })}
      isPending={save.isPending}
      submitError={save.error}
      submitLabel="Save limits"
    >
      {({ field, form }) => (
        <>
          <TextField
            label="Spend cap, USD"
            inputMode="decimal"
            description="Before tax. Leave empty for no cap. Administrators get an email at 75, 90 and 100 %."
            className="max-w-100"
            {...field('spendCapUsd')}
          />
          <RadioGroup
            label="At 100 %"
            options={atCapOptions}
            value={form.watch('atCap')}
            onChange={(atCap) => form.setValue('atCap', atCap, { shouldDirty: true })}
          />
          {form.watch('atCap') === 'hibernate' && (
            <TextArea
              label="Hibernation order"
              description="Squid names, one per line, in the order in which Shoal hibernates them. All other squids follow."
              isMono
              className="max-w-100"
              {...field('hibernateOrder')}
            />
          )}
          <TextField
            label="RPC requests cap"
            inputMode="numeric"
            description="Leave empty for no cap. Requests beyond it are rejected until the end of the month."
            className="max-w-100"
            {...field('rpcRequestsCap')}
          />
        </>
      )}
    </FormShell>
  )
}

const fieldsOf = ({ spendCapUsd, atCap, hibernateOrder, rpcRequestsCap }: BillingLimits): Fields => ({
  spendCapUsd: spendCapUsd ?? '',
  atCap,
  hibernateOrder: hibernateOrder.join('\n'),
  rpcRequestsCap: rpcRequestsCap === null ? '' : String(rpcRequestsCap),
})

const limitsOf = ({ spendCapUsd, atCap, hibernateOrder, rpcRequestsCap }: Fields): BillingLimits => ({
  spendCapUsd: spendCapUsd.trim() || null,
  atCap,
  hibernateOrder: hibernateOrder.split(/[\s,]+/).filter((name) => name !== ''),
  rpcRequestsCap: rpcRequestsCap.trim() === '' ? null : Number(rpcRequestsCap),
})
