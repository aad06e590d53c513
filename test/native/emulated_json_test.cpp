// The JSON that the emulated driver reads.
#include <doctest/doctest.h>

#include "emulated/json.hpp"

namespace pinbench::test::emulated_json {
namespace {

using emulated::Json;
using emulated::parse_json;

std::string complaint_about(std::string_view text) {
  const auto parsed = parse_json(text);
  REQUIRE((parsed.value == nullptr) != parsed.complaint.empty());
  return parsed.complaint;
}

Json parsed(std::string_view text) {
  auto result = parse_json(text);
  REQUIRE_MESSAGE(result.value != nullptr, result.complaint);
  return *result.value;
}

std::string text_of(std::string_view text) {
  const Json json = parsed(text);
  REQUIRE(json.string() != nullptr);
  return *json.string();
}

double number_of(std::string_view text) {
  const Json json = parsed(text);
  REQUIRE(json.number() != nullptr);
  return *json.number();
}

}  // namespace

TEST_CASE("JSON of every kind is read") {
  const Json json =
      parsed(" { \"a\" : [ 1 , true , false , null , \"x\" , { } , [ ] ] ,\n\t\"b\":{\"c\":-2}}\r\n");
  const auto* const object = json.object();
  REQUIRE(object != nullptr);
  REQUIRE(object->size() == 2);
  CHECK((*object)[0].first == "a");
  const auto* const array = (*object)[0].second.array();
  REQUIRE(array != nullptr);
  REQUIRE(array->size() == 7);
  CHECK(*(*array)[0].number() == 1);
  CHECK(std::get<bool>((*array)[1].value));
  CHECK_FALSE(std::get<bool>((*array)[2].value));
  CHECK(std::holds_alternative<std::nullptr_t>((*array)[3].value));
  CHECK(*(*array)[4].string() == "x");
  CHECK((*array)[5].object()->empty());
  CHECK((*array)[6].array()->empty());
  CHECK(*(*(*object)[1].second.object())[0].second.number() == -2);
}

TEST_CASE("numbers of JSON are read in every form that they have") {
  CHECK(number_of("0") == 0);
  CHECK(number_of("-0") == 0);
  CHECK(number_of("10") == 10);
  CHECK(number_of("0.25") == 0.25);
  CHECK(number_of("-1.5e3") == -1500);
  CHECK(number_of("1E+2") == 100);
  CHECK(number_of("1e-2") == 0.01);
}

TEST_CASE("escapes of JSON's strings are read, beyond 16 bits as well") {
  CHECK(text_of(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  CHECK(text_of(R"("\u0041\u00e9\u20AC\ud83d\ude00")") == "A\u00e9\u20ac\U0001f600");
  CHECK(text_of(R"("a\u0000b")") == std::string("a\0b", 3));
}

TEST_CASE("what is no JSON is refused, with the place where it stops being it") {
  CHECK(complaint_about("") == "a value is missing at character 1");
  CHECK(complaint_about("[1 2]") == "a comma or ] is missing at character 4");
  CHECK(complaint_about("[1,]") == "a value is missing at character 4");
  CHECK(complaint_about("{\"a\":1,}") == "the name of a member is missing at character 8");
  CHECK(complaint_about("{\"a\" 1}") == "a colon is missing at character 6");
  CHECK(complaint_about("{\"a\":1") == "a comma or } is missing at character 7");
  CHECK(complaint_about("{\"a\":1,\"a\":2}") == "an object has two members of one name at character 11");
  CHECK(complaint_about("1 1") == "something follows the value at character 3");
  CHECK(complaint_about("[") == "a value is missing at character 2");
  for (const std::string_view number : {"01", "-", "1.", ".5", "+1", "1e", "1e+", "0x1", "NaN", "1e999"}) {
    CAPTURE(number);
    CHECK_FALSE(complaint_about(number).empty());
  }
  for (const std::string_view text :
       {R"("a)", R"("\x")", R"("\u12")", R"("\u12g4")", R"("\ud83d")", R"("\ud83dx")", R"("\ud83d\u0041")",
        R"("\ude00")", "\"\n\"", "\"\\", "\"\\u"}) {
    CAPTURE(text);
    CHECK_FALSE(complaint_about(text).empty());
  }
  CHECK_FALSE(complaint_about(std::string_view("[1]\0", 4)).empty());
}

TEST_CASE("JSON may stand in itself to a limit") {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  CHECK(parse_json(nested(emulated::kDeepestJson + 1)).value != nullptr);
  CHECK(complaint_about(nested(emulated::kDeepestJson + 2)).starts_with("the values stand too deep"));
  CHECK(complaint_about(std::string(1'000'000, '[')).starts_with("the values stand too deep"));
}

}  // namespace pinbench::test::emulated_json
