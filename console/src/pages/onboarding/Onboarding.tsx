import type { Invitation } from '@shoal/contract'
import { useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import { endSession, useUser } from '../../api/session.ts'
import { QueryView } from '../../components/QueryView.tsx'
import { Button } from '../../ui/Button.tsx'
import { Logo } from '../../ui/Logo.tsx'
import { InvitationsStep } from './InvitationsStep.tsx'
import { StepHeading } from './StepHeading.tsx'
import { WelcomeStep } from './WelcomeStep.tsx'

/** The two steps before the app: the questionnaire, then the invitations (spec 2.2). */
export default function Onboarding({ invitations }: { invitations: UseQueryResult<Invitation[]> }) {
  const user = useUser()
  const queryClient = useQueryClient()
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="flex h-13 items-center justify-between gap-3 border-b border-line px-4">
        <span className="flex items-center gap-2 text-brand font-semibold">
          <Logo className="text-accent" />
          Shoal
        </span>
        <span className="flex min-w-0 items-center gap-3 text-sm text-ink-2">
          <span className="truncate">{user.email}</span>
          <Button variant="ghost" onClick={() => void endSession(queryClient)}>
            Logout
          </Button>
        </span>
      </header>
      <main className="mx-auto w-full max-w-148 px-4 py-10">
        {user.onboardingForm === null ? (
          <WelcomeStep />
        ) : (
          <>
            <StepHeading step={2} title="Your invitations">
              Select the organizations you want to join.
            </StepHeading>
            <QueryView query={invitations} what="Your invitations">
              {(pending) => <InvitationsStep invitations={pending} />}
            </QueryView>
          </>
        )}
      </main>
    </div>
  )
}
