import { alertRules, type AlertRule } from '@shoal/contract'
import { useOrg } from '../../../api/active-org.ts'
import { useApiMutation } from '../../../api/mutation.ts'
import { seed, withItem } from '../../../api/seed.ts'
import { Switch } from '../../../ui/Switch.tsx'
import { ThresholdForm } from './ThresholdForm.tsx'

type Props = {
  rule: AlertRule
  /** Whether the user may only view the rule. */
  isReadOnly: boolean
}

/** One alert rule. Its switch applies immediately; its threshold has a save button. */
export function RuleRow({ rule, isReadOnly }: Props) {
  const { code } = useOrg()
  const { title, explanation, threshold } = alertRules[rule.kind]
  const change = useApiMutation('alerts.changeRule', {
    invalidates: ['alerts.listRules'],
    seeds: (client, changed) =>
      seed(client, 'alerts.listRules', { params: { code } }, (rules) => withItem(rules, changed, ({ kind }) => kind)),
  })
  const save = (changes: Partial<Omit<AlertRule, 'kind'>>) => {
    const { kind, isEnabled, threshold: currentThreshold } = rule
    return change.mutateAsync({ params: { code, kind }, body: { isEnabled, threshold: currentThreshold, ...changes } })
  }
  const isOn = change.isPending ? change.variables.body.isEnabled : rule.isEnabled
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-4 px-3.5 py-3 sm:gap-x-6">
      <div className="min-w-0">
        <p className="font-medium">{title}</p>
        <p className="text-ink-2">{explanation}</p>
        {threshold && rule.threshold !== null && (
          <ThresholdForm
            key={rule.threshold}
            title={title}
            bounds={threshold}
            value={rule.threshold}
            isReadOnly={isReadOnly || !isOn}
            isPending={change.isPending}
            onSave={(value) => void save({ threshold: value }).catch(() => null)}
          />
        )}
      </div>
      <Switch
        checked={isOn}
        disabled={isReadOnly}
        onChange={({ target }) => void save({ isEnabled: target.checked }).catch(() => null)}
      >
        <span className="sr-only">{title}</span>
        <span aria-hidden className="inline-block w-6 text-sm text-ink-2">
          {isOn ? 'On' : 'Off'}
        </span>
      </Switch>
    </li>
  )
}
