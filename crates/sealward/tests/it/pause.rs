//! `sealward pause`, `resume` and `health`, beside a running hub.

use crate::world;

#[test]
fn pause_stops_the_hub_and_resume_only_says_where_a_passkey_lifts_it() {
    let world = world();
    let token = std::fs::read_to_string(world.home().join("token")).unwrap();
    let paused = || world.http().bearer(token.trim()).get("/api/me").expect(200).json()["paused"].clone();
    assert_eq!(paused(), false);
    let said = world.sealward(["resume"]).run().expect(0).out();
    assert!(said.contains("not paused") && said.contains(world.origin()), "{said}");

    let _done = world.sealward(["pause"]).run().expect(0);
    assert_eq!(paused(), true);
    let _again = world.sealward(["pause"]).run().expect(0);

    let said = world.sealward(["resume"]).run().expect(0).out();
    assert!(said.contains(world.origin()), "{said}");
    assert_eq!(paused(), true, "only the page resumes");
}

#[test]
fn pausing_without_a_hub_says_that_nothing_was_paused_and_exits_3() {
    let mut world = world();
    world.stop();
    let run = world.sealward(["pause"]).run().expect(3);
    assert!(run.err().contains("was not paused"), "{}", run.err());
}

#[test]
fn health_finds_the_hub_of_the_home_and_tells_it_from_none() {
    let mut world = world();
    assert_eq!(world.sealward(["health"]).run().expect(0).out(), "ok\n");
    let url = format!("http://{}", world.address());
    assert_eq!(world.sealward(["health", "--hub", &url]).run().expect(0).out(), "ok\n");
    world.stop();
    let _down = world.sealward(["health"]).run().expect(1);
    let _down = world.sealward(["health", "--hub", &url]).run().expect(1);
    let _wrong = world.sealward(["health", "--hub", "http://example.org"]).run().expect(2);
}
