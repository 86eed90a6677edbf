import { useQueryClient } from '@tanstack/react-query'
import { useApiMutation } from '../../api/mutation.ts'
import { q } from '../../api/query.ts'
import { seedUser } from '../../api/seed-session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { setSetting } from '../../lib/local-settings.ts'
import { RadioGroup } from '../../ui/RadioGroup.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { formOf, isComplete, noAnswers, questions } from './answers.ts'
import { StepHeading } from './StepHeading.tsx'

/**
 * The questionnaire. When the answers are saved, the session contains them, and `Onboarding` shows the invitations. If there are none, the
 * user is not asked again in this session (spec 4).
 */
export function WelcomeStep() {
  const queryClient = useQueryClient()
  const saveAnswers = useApiMutation('user.completeOnboarding', {
    invalidates: ['user.get'],
    seeds: seedUser,
    onSuccess: () => {
      const invitations = queryClient.getQueryData(q('user.listInvites', {}).queryKey)
      if (invitations?.length === 0) setSetting('tmp_invites_checked', true)
    },
    errorDisplay: 'caller',
  })
  return (
    <>
      <StepHeading step={1} title="Welcome">
        Three short questions that help us build what you need.
      </StepHeading>
      <FormShell
        schema={({ z }) =>
          z.object({
            occupation: z.string(),
            customOccupation: z.string(),
            source: z.string(),
            customSource: z.string(),
            usage: z.string(),
            customUsage: z.string(),
          })
        }
        values={noAnswers}
        onSubmit={(answers) => saveAnswers.mutate({ body: { onboardingForm: formOf(answers) } })}
        isPending={saveAnswers.isPending}
        submitError={saveAnswers.error}
        submitLabel="Next"
        warnsAboutUnsavedChanges={false}
        disabledReasonOf={(answers) => (isComplete(answers) ? null : 'Please answer all three questions')}
      >
        {({ field, form }) =>
          questions.map(({ name, custom, label, options }) => {
            const value = form.watch(name)
            return (
              <div key={name} className="flex flex-col gap-2 pb-2">
                <RadioGroup
                  label={label}
                  isInline
                  options={options.map((option: string) => ({ value: option, label: option }))}
                  value={value}
                  onChange={(option) => form.setValue(name, option, { shouldDirty: true })}
                />
                {value === 'Other' && (
                  <TextField label="In your own words" maxLength={200} autoFocus {...field(custom)} />
                )}
              </div>
            )
          })
        }
      </FormShell>
    </>
  )
}
